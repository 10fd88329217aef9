#include "shard_pattern.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DIGITS_MAX = 18 };
static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

struct expansion {
    const char *pattern;
    rue_status (*visit)(void *context, const char *path, rue_error *error);
    void *context;
    uint64_t visited;
    char path[PATH_MAX];
};

/* What is still to be expanded: a part of the pattern, and what follows it: a word of a list and what is
 * behind the list. */
struct rest {
    const char *at, *end;
    const struct rest *next;
};

struct range {
    int64_t first, last, step;
    int width; /* of numbers; 0: places in `letters` */
};

static rue_status expand(struct expansion *e, const struct rest *rest, size_t length, rue_error *error);

static rue_status refuse(const struct expansion *e, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_USAGE, "the pattern %s %s: give one such as train-{000000..000012}.tar",
                    e->pattern, why);
}

/* Puts `bytes` of `text` behind the path so far, and goes on with `rest`. */
static rue_status append(struct expansion *e, size_t length, const char *text, size_t bytes,
                         const struct rest *rest, rue_error *error)
{
    if (length + bytes >= sizeof e->path) return refuse(e, "makes too long a path", error);
    memcpy(e->path + length, text, bytes);
    return expand(e, rest, length + bytes, error);
}

/* ---- ranges ---- */

/* Takes a number off the text; its bytes, 0 for none. */
static size_t take_number(const char **at, const char *end, int64_t *out)
{
    const char *text = *at, *digits = text + (text < end && *text == '-');
    size_t count = 0;
    while (digits + count < end && isdigit((unsigned char)digits[count])) count++;
    if (count == 0 || count > DIGITS_MAX) return 0;
    *out = strtoll(text, NULL, 10);
    *at = digits + count;
    return (size_t)(*at - text);
}

static bool take_dots(const char **at, const char *end)
{
    bool there = end - *at > 2 && strncmp(*at, "..", 2) == 0;
    if (there) *at += 2;
    return there;
}

static bool take_letter(const char **at, const char *end, int64_t *out)
{
    const char *place = *at < end ? memchr(letters, **at, sizeof letters - 1) : NULL;
    if (!place) return false;
    *out = place - letters;
    ++*at;
    return true;
}

static bool is_padded(const char *number, size_t bytes)
{
    size_t sign = *number == '-';
    return number[sign] == '0' && bytes > sign + 1;
}

/* "000..012", "c..a" or "0..8..2", all of the text; false where it is none. */
static bool read_range(const char *at, const char *end, struct range *out)
{
    const char *first = at;
    *out = (struct range){.step = 1};
    size_t from = take_number(&at, end, &out->first);
    if (from) {
        if (!take_dots(&at, end)) return false;
        const char *last = at;
        size_t to = take_number(&at, end, &out->last);
        if (!to) return false;
        out->width = is_padded(first, from) || is_padded(last, to) ? (int)(from > to ? from : to) : 1;
    } else if (!take_letter(&at, end, &out->first) || !take_dots(&at, end) ||
               !take_letter(&at, end, &out->last)) {
        return false;
    }
    if (at < end && (!take_dots(&at, end) || !take_number(&at, end, &out->step))) return false;
    out->step = out->step ? llabs(out->step) : 1;
    return at == end;
}

static rue_status expand_range(struct expansion *e, const struct range *range, const struct rest *rest,
                               size_t length, rue_error *error)
{
    char number[32];
    int64_t steps = llabs(range->last - range->first) / range->step;
    int64_t step = range->last < range->first ? -range->step : range->step;
    if (steps >= RUE_SHARD_PATTERN_MAX) return refuse(e, "names too many files", error);
    rue_status status = RUE_OK;
    for (int64_t i = 0; status == RUE_OK && i <= steps; i++) {
        int64_t value = range->first + i * step;
        int bytes = snprintf(number, sizeof number, "%0*" PRId64, range->width, value);
        status = range->width ? append(e, length, number, (size_t)bytes, rest, error)
                              : append(e, length, letters + value, 1, rest, error);
    }
    return status;
}

/* ---- lists ---- */

/* Where `wanted` stands outside of inner braces; NULL: nowhere. */
static const char *find_outside(const char *at, const char *end, char wanted)
{
    for (int depth = 0; at < end; at++) {
        if (*at == wanted && depth == 0) return at;
        depth += (*at == '{') - (*at == '}');
    }
    return NULL;
}

static rue_status expand_list(struct expansion *e, const char *at, const char *end, const struct rest *rest,
                              size_t length, rue_error *error)
{
    rue_status status = RUE_OK;
    while (status == RUE_OK) {
        const char *comma = find_outside(at, end, ',');
        const struct rest word = {at, comma ? comma : end, rest};
        status = expand(e, &word, length, error);
        if (!comma) break;
        at = comma + 1;
    }
    return status;
}

/* ---- patterns ---- */

static rue_status expand(struct expansion *e, const struct rest *rest, size_t length, rue_error *error)
{
    while (rest && rest->at == rest->end) rest = rest->next;
    if (!rest) {
        e->path[length] = 0;
        if (++e->visited > RUE_SHARD_PATTERN_MAX) return refuse(e, "names too many files", error);
        return e->visit(e->context, e->path, error);
    }
    struct rest behind = *rest;
    while (behind.at < behind.end && !strchr("{}", *behind.at)) behind.at++;
    if (behind.at > rest->at)
        return append(e, length, rest->at, (size_t)(behind.at - rest->at), &behind, error);
    const char *inside = rest->at + 1, *close = find_outside(inside, rest->end, '}');
    if (*rest->at != '{' || !close) return refuse(e, "has a brace without its other one", error);
    struct range range;
    behind.at = close + 1;
    if (read_range(inside, close, &range)) return expand_range(e, &range, &behind, length, error);
    if (find_outside(inside, close, ',')) return expand_list(e, inside, close, &behind, length, error);
    return refuse(e, "has braces without a range", error);
}

rue_status rue_shard_pattern_expand(const char *pattern,
                                    rue_status (*visit)(void *context, const char *path, rue_error *error),
                                    void *context, rue_error *error)
{
    struct expansion e = {.pattern = pattern, .visit = visit, .context = context};
    const struct rest all = {pattern, pattern + strlen(pattern), NULL};
    unsigned braces = 0;
    for (const char *at = pattern; *at; at++) braces += *at == '{';
    if (braces > RUE_SHARD_BRACES_MAX) return refuse(&e, "has too many braces", error);
    return expand(&e, &all, 0, error);
}

/* ---- splits ---- */

static const char train[] = "train", val[] = "val", test[] = "test";

static const struct {
    const char *word, *split;
} words[] = {{"train", train}, {"training", train}, {"val", val},   {"valid", val},   {"validation", val},
             {"dev", val},     {"eval", val},       {"test", test}, {"testing", test}};

static size_t count_letters(const char *text)
{
    size_t count = 0;
    while (isalpha((unsigned char)text[count])) count++;
    return count;
}

const char *rue_shard_split(const char *path)
{
    const char *slash = strrchr(path, '/');
    for (const char *at = slash ? slash + 1 : path; *at; at++) {
        size_t length = count_letters(at);
        for (size_t w = 0; length && w < sizeof words / sizeof *words; w++)
            if (strlen(words[w].word) == length && strncasecmp(at, words[w].word, length) == 0)
                return words[w].split;
        at += length ? length - 1 : 0;
    }
    return NULL;
}

bool rue_shard_split_pattern(const char *first, const char *last, size_t count, char out[2 * PATH_MAX])
{
    size_t before = 0, width = 0;
    while (first[before] && first[before] == last[before]) before++;
    while (before && isdigit((unsigned char)first[before - 1])) before--;
    while (isdigit((unsigned char)first[before + width]) && isdigit((unsigned char)last[before + width]))
        width++;
    const char *rest = first + before + width;
    bool numbered = count > 1 && width && width <= DIGITS_MAX && strcmp(rest, last + before + width) == 0 &&
                    strtoull(last + before, NULL, 10) - strtoull(first + before, NULL, 10) == count - 1;
    if (numbered)
        snprintf(out, 2 * PATH_MAX, "%.*s{%.*s..%.*s}%s", (int)before, first, (int)width, first + before,
                 (int)width, last + before, rest);
    else
        snprintf(out, 2 * PATH_MAX, "%s", first);
    return numbered;
}
