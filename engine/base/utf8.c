#include "utf8.h"

#include <stdlib.h>
#include <string.h>

#define NO_BREAK_SPACE 0xA0
#define ELLIPSIS       0x2026
#define REPLACEMENT    "\xEF\xBF\xBD"

struct range {
    int32_t first, last;
};

/* Combining marks and joiners: no column. */
static const struct range narrow[] = {{0x300, 0x36F},   {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200D},
                                      {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};

/* East Asian scripts and pictographs: two columns. */
static const struct range wide[] = {
    {0x1100, 0x115F}, {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},
    {0xA000, 0xA4CF}, {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
    {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

/* These move the cursor or change the writing direction. */
static const struct range unsafe[] = {{1, 0x1F},        {0x7F, 0x9F},     {0x61C, 0x61C},   {0x200E, 0x200F},
                                      {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}};

#define LENGTH(array)     (sizeof(array) / sizeof *(array))
#define IS(point, ranges) among(point, ranges, LENGTH(ranges))

static bool among(int32_t point, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last) return true;
    return false;
}

int32_t rue_utf8_next(const char **at)
{
    static const struct {
        unsigned char mask, lead;
        int32_t least;
    } forms[] = {{0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
    const unsigned char *bytes = (const unsigned char *)*at;
    if (bytes[0] == 0) return 0;
    *at += 1;
    if (bytes[0] < 0x80) return bytes[0];
    for (size_t more = 1; more <= sizeof forms / sizeof *forms; more++) {
        if ((bytes[0] & forms[more - 1].mask) != forms[more - 1].lead) continue;
        int32_t point = bytes[0] & ~forms[more - 1].mask;
        for (size_t i = 1; i <= more; i++) {
            if ((bytes[i] & 0xC0) != 0x80) return -1;
            point = point << 6 | (bytes[i] & 0x3F);
        }
        bool surrogate = point >= 0xD800 && point <= 0xDFFF;
        if (point < forms[more - 1].least || point > 0x10FFFF || surrogate) return -1;
        *at += more;
        return point;
    }
    return -1;
}

bool rue_utf8_is_valid(const char *text)
{
    int32_t point;
    while ((point = rue_utf8_next(&text)) > 0) continue;
    return point == 0;
}

bool rue_utf8_is_unsafe(int32_t point)
{
    return IS(point, unsafe);
}

static int point_width(int32_t point)
{
    if (IS(point, narrow)) return 0;
    return IS(point, wide) ? 2 : 1;
}

int rue_utf8_width(const char *text)
{
    int width = 0;
    int32_t point;
    while ((point = rue_utf8_next(&text)) != 0) width += point_width(point);
    return width;
}

static void clean_into(const char *text, bool unicode, bool keep_no_break, char *out, size_t bytes)
{
    size_t used = 0;
    for (;;) {
        const char *start = text;
        int32_t point = rue_utf8_next(&text);
        size_t length = (size_t)(text - start);
        if (point == NO_BREAK_SPACE && !keep_no_break)
            start = " ", length = 1;
        else if (point == ELLIPSIS && !unicode)
            start = "...", length = 3;
        else if (point < 0 || rue_utf8_is_unsafe(point) ||
                 (point > 0x7E && !unicode && point != NO_BREAK_SPACE))
            start = "?", length = 1;
        if (point == 0 || used + length + 1 > bytes) break;
        memcpy(out + used, start, length);
        used += length;
    }
    if (bytes) out[used] = 0;
}

void rue_utf8_clean(const char *text, bool unicode, char *out, size_t bytes)
{
    clean_into(text, unicode, false, out, bytes);
}

char *rue_utf8_cleaned(const char *text, bool unicode, bool keep_no_break)
{
    size_t bytes = strlen(text) + 1; /* no character becomes longer */
    char *out = malloc(bytes);
    if (out) clean_into(text, unicode, keep_no_break, out, bytes);
    return out;
}

/* Number of bytes that fit in `width` columns. */
static size_t head_bytes(const char *text, int width)
{
    const char *at = text;
    for (;;) {
        const char *next = at;
        int32_t point = rue_utf8_next(&next);
        if (point == 0 || (width -= point_width(point)) < 0) return (size_t)(at - text);
        at = next;
    }
}

/* The longest end of `text` that fits in `width` columns. */
static const char *tail(const char *text, int width)
{
    while (rue_utf8_width(text) > width) rue_utf8_next(&text);
    return text;
}

void rue_utf8_shorten(const char *text, int width, bool unicode, char *out, size_t bytes)
{
    const char *dots = unicode ? "…" : "...";
    int room = width - (unicode ? 1 : 3);
    bool fits = rue_utf8_width(text) <= width;
    if (room < 1) dots = "", room = width;
    size_t head = fits ? strlen(text) : head_bytes(text, *dots ? (room + 1) / 2 : room);
    const char *pieces[] = {text, fits ? "" : dots, fits || !*dots ? "" : tail(text, room / 2)};
    const size_t lengths[] = {head, strlen(pieces[1]), strlen(pieces[2])};
    size_t used = 0;
    for (size_t i = 0; i < LENGTH(pieces); i++) {
        if (used + lengths[i] + 1 > bytes) break;
        memcpy(out + used, pieces[i], lengths[i]);
        used += lengths[i];
    }
    if (bytes) out[used] = 0;
}

char *rue_utf8_repair(const char *text)
{
    char *out = malloc(strlen(text) * strlen(REPLACEMENT) + 1);
    if (!out) return NULL;
    size_t used = 0;
    for (;;) {
        const char *start = text;
        int32_t point = rue_utf8_next(&text);
        if (point == 0) break;
        size_t length = point < 0 ? strlen(REPLACEMENT) : (size_t)(text - start);
        memcpy(out + used, point < 0 ? REPLACEMENT : start, length);
        used += length;
    }
    out[used] = 0;
    return out;
}
