#include "made_with.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

static __attribute__((format(printf, 2, 3))) void add_words(char text[RUE_MADE_WITH_BYTES],
                                                            const char *format, ...)
{
    size_t used = strlen(text);
    va_list values;
    if (used && used + 1 < RUE_MADE_WITH_BYTES) text[used++] = ' ';
    va_start(values, format);
    vsnprintf(text + used, RUE_MADE_WITH_BYTES - used, format, values);
    va_end(values);
}

/* As few digits as identify each number. */
static void add_numbers(char text[RUE_MADE_WITH_BYTES], const char *name, const float *numbers,
                        uint32_t count)
{
    char list[RUE_CHANNELS * 32] = "";
    size_t used = 0;
    for (uint32_t c = 0; c < count; c++) {
        char number[32];
        int digits = 6;
        do snprintf(number, sizeof number, "%.*g", digits, (double)numbers[c]);
        while (digits++ < 9 && strtof(number, NULL) != numbers[c]);
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", c ? "," : "", number);
    }
    add_words(text, "%s %s", name, list);
}

void rue_made_with_add_pixels(char text[RUE_MADE_WITH_BYTES], const struct rue_geometry *geometry,
                              enum rue_orientation orientation)
{
    if (geometry->resize == RUE_RESIZE_NONE)
        add_words(text, "resize none");
    else if (geometry->resize == RUE_RESIZE_SHORT)
        add_words(text, "resize %u", geometry->resize_height);
    else
        add_words(text, "resize %ux%u", geometry->resize_height, geometry->resize_width);
    if (geometry->resize != RUE_RESIZE_NONE)
        add_words(text, "interpolation %s", rue_interpolation_names[geometry->interpolation]);
    add_words(text, "layout %s", rue_layout_names[geometry->layout]);
    add_words(text, "orientation %s", rue_orientation_names[orientation]);
}

void rue_made_with_add_normal(char text[RUE_MADE_WITH_BYTES], const struct rue_geometry *geometry)
{
    add_numbers(text, "mean", geometry->mean, geometry->channels);
    add_numbers(text, "std", geometry->std, geometry->channels);
}

void rue_made_with_items(const uint32_t shape[3], const char *recorded, char out[RUE_MADE_WITH_BYTES])
{
    out[0] = 0;
    add_words(out, "shape %ux%ux%u", shape[0], shape[1], shape[2]);
    if (*recorded) add_words(out, "%s", recorded);
}

/* ---- reading ---- */

void rue_made_with_read(const void *stored, size_t bytes, char out[RUE_MADE_WITH_BYTES])
{
    const char *text = stored;
    out[0] = 0;
    if (bytes && text[bytes - 1] == '\n') bytes--;
    bool valid = bytes < RUE_MADE_WITH_BYTES;
    for (size_t i = 0; valid && i < bytes; i++) valid = text[i] >= ' ' && text[i] <= '~';
    if (valid && bytes) snprintf(out, RUE_MADE_WITH_BYTES, "%.*s", (int)bytes, text);
}

struct word {
    const char *text; /* NULL: there is none */
    size_t bytes;
};

/* Reads the word at `*at`, and moves `*at` to the next one. */
static struct word read_word(const char **at)
{
    *at += strspn(*at, " ");
    const struct word word = {*at, strcspn(*at, " ")};
    *at += word.bytes;
    return word;
}

static bool is_same(struct word a, struct word b)
{
    return a.text && b.text && a.bytes == b.bytes && memcmp(a.text, b.text, a.bytes) == 0;
}

static struct word find_value(const char *text, struct word name)
{
    while (*text) {
        const struct word found = read_word(&text), value = read_word(&text);
        if (is_same(found, name)) return value;
    }
    return (struct word){0};
}

/* ---- comparing ---- */

static void add_size(char text[RUE_MADE_WITH_BYTES], const uint32_t shape[3], bool channels_last)
{
    const uint32_t *size = channels_last ? shape : shape + 1;
    add_words(text, "image_size %ux%u", size[0], size[1]);
    add_words(text, "channels %u", shape[channels_last ? 2 : 0]);
}

/* Copies the text of items. With the layout the shape becomes image_size and channels. */
static void read_items(const char *items, char out[RUE_MADE_WITH_BYTES])
{
    const struct word last = {"nhwc", 4}, layout = find_value(items, (struct word){"layout", 6});
    uint32_t shape[3];
    int shape_bytes = 0;
    out[0] = 0;
    if (layout.text && sscanf(items, "shape %ux%ux%u%n", &shape[0], &shape[1], &shape[2], &shape_bytes) == 3)
        add_size(out, shape, is_same(layout, last));
    add_words(out, "%s", items + shape_bytes);
}

static void describe_request(const struct rue_geometry *shaped, const struct rue_geometry *geometry,
                             enum rue_orientation orientation, char out[RUE_MADE_WITH_BYTES])
{
    uint32_t shape[3];
    rue_geometry_shape(shaped, shape);
    rue_made_with_items(shape, "", out);
    add_size(out, shape, shaped->layout == RUE_NHWC);
    rue_made_with_add_pixels(out, geometry, orientation);
    rue_made_with_add_normal(out, geometry);
}

/* What is asked for by default, given the size and the channels. */
static void describe_default(const struct rue_geometry *given, char out[RUE_MADE_WITH_BYTES])
{
    const struct rue_geometry usual = rue_geometry_default();
    struct rue_geometry sized = usual;
    uint32_t side = given->height < given->width ? given->height : given->width;
    sized.channels = given->channels;
    sized.resize_height = side * usual.resize_height / usual.height;
    describe_request(&usual, &sized, RUE_ORIENTATION_IGNORE, out);
}

rue_status rue_made_with_check(const char *path, const char *items, const struct rue_geometry *geometry,
                               enum rue_orientation orientation, bool beside_raw, rue_error *error)
{
    char asked[RUE_MADE_WITH_BYTES], usual[RUE_MADE_WITH_BYTES], known[RUE_MADE_WITH_BYTES];
    read_items(items, known);
    describe_request(geometry, geometry, orientation, asked);
    describe_default(geometry, usual);
    for (const char *at = known; *at;) {
        const struct word name = read_word(&at), made = read_word(&at), value = find_value(asked, name);
        if (!value.text || !made.bytes || is_same(value, made)) continue;
        if (!beside_raw && is_same(value, find_value(usual, name))) continue;
        return rue_fail(error, RUE_USAGE, "%s was prepared with %.*s %.*s, and %s%.*s %.*s%s", path,
                        (int)name.bytes, name.text, (int)made.bytes, made.text,
                        beside_raw ? "the raw images are loaded with " : "", (int)name.bytes, name.text,
                        (int)value.bytes, value.text,
                        beside_raw ? ": give the options that it was prepared with"
                                   : " is asked for: prepare the images again, or leave the option out");
    }
    return RUE_OK;
}
