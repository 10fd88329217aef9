#include "augment_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The columns between `item` and `flip`, in the order of struct rue_augmentation. */
enum { REALS = 9, MILLION = 1000000 };

static const char *const names[REALS] = {"area",       "ratio",    "x",     "y",    "rotation",
                                         "brightness", "contrast", "noise", "scale"};

/* Returns the end. */
static char *put_integer(char *out, uint64_t value)
{
    char digits[24];
    int length = 0;
    do digits[length++] = (char)('0' + value % 10);
    while (value /= 10);
    while (length) *out++ = digits[--length];
    return out;
}

/* 6 digits after the point, without rounding up: x and y stay below 1. A whole number has no point. */
static char *put_real(char *out, float value)
{
    int32_t scaled = (int32_t)(value * (float)MILLION);
    if (scaled < 0) *out++ = '-';
    uint32_t size = (uint32_t)(scaled < 0 ? -scaled : scaled), part = size % MILLION;
    out = put_integer(out, size / MILLION);
    if (part == 0) return out;
    *out++ = '.';
    for (int i = 5; i >= 0; i--, part /= 10) out[i] = (char)('0' + part % 10);
    return out + 6;
}

static char *put_text(char *out, const char *text)
{
    size_t length = strlen(text);
    memcpy(out, text, length);
    return out + length;
}

static const float *get_reals(const struct rue_augmentation *set)
{
    return &set->area;
}

/* Values have all digits, so that others can do the same. Zeros at the end of an operation are left out. */
static char *put_operations(char *out, const struct rue_augment_origin *origin,
                            const struct rue_augmentation *set)
{
    const struct rue_frame frame = {origin->width, origin->height, RUE_SAMPLING_BICUBIC, {0}};
    struct rue_operations list;
    rue_operations_draw(&origin->recipe, &origin->key, set, &frame, &list);
    out = put_text(out, ",\"operations\":[");
    for (uint32_t i = 0; i < list.count; i++) {
        const struct rue_operation *one = &list.at[i];
        out = put_text(put_text(out, i ? ",[\"" : "[\""), rue_operation_names[one->kind]);
        *out++ = '"';
        if (one->value != 0 || one->more != 0) out += sprintf(out, ",%.17g", (double)one->value);
        if (one->more != 0) out += sprintf(out, ",%.17g", (double)one->more);
        *out++ = ']';
    }
    return put_text(out, "]");
}

static size_t jsonl_rows(char *out, const struct rue_augment_origin *origin,
                         const struct rue_augmentation *sets, size_t count)
{
    static const char *const keys[REALS] = {
        ",\"area\":",       ",\"ratio\":",    ",\"x\":",     ",\"y\":",    ",\"rotation\":",
        ",\"brightness\":", ",\"contrast\":", ",\"noise\":", ",\"scale\":"};
    bool more = rue_recipe_has_operations(&origin->recipe);
    char *at = out;
    for (size_t s = 0; s < count; s++) {
        at = put_integer(put_text(at, "{\"item\":"), sets[s].item);
        for (int i = 0; i < REALS; i++) at = put_real(put_text(at, keys[i]), get_reals(&sets[s])[i]);
        at = put_text(at, sets[s].flip ? ",\"flip\":1" : ",\"flip\":0");
        if (more) at = put_operations(at, origin, &sets[s]);
        at = put_text(at, "}\n");
    }
    return (size_t)(at - out);
}

static size_t csv_rows(char *out, const struct rue_augment_origin *origin,
                       const struct rue_augmentation *sets, size_t count)
{
    (void)origin;
    char *at = out;
    for (size_t s = 0; s < count; s++) {
        at = put_integer(at, sets[s].item);
        for (int i = 0; i < REALS; i++) *at++ = ',', at = put_real(at, get_reals(&sets[s])[i]);
        at = put_text(at, sets[s].flip ? ",1\n" : ",0\n");
    }
    return (size_t)(at - out);
}

static size_t npy_rows(char *out, const struct rue_augment_origin *origin,
                       const struct rue_augmentation *sets, size_t count)
{
    (void)origin;
    memcpy(out, sets, count * sizeof *sets);
    return count * sizeof *sets;
}

static size_t no_head(char *out, uint64_t rows)
{
    (void)out, (void)rows;
    return 0;
}

static size_t csv_head(char *out, uint64_t rows)
{
    (void)rows;
    char *at = put_text(out, "item");
    for (int i = 0; i < REALS; i++) *at++ = ',', at = put_text(at, names[i]);
    return (size_t)(put_text(at, ",flip\n") - out);
}

/* An array of records (NumPy, NEP 1): magic, version 1.0, length of the header, a Python literal. Spaces and
 * a line feed fill it to a multiple of 64 bytes. */
static size_t npy_head(char *out, uint64_t rows)
{
    enum { BEFORE = 10 };
    char *at = put_text(out + BEFORE, "{'descr': [('item', '<u8')");
    for (int i = 0; i < REALS; i++) at += sprintf(at, ", ('%s', '<f4')", names[i]);
    at += sprintf(at, ", ('flip', '<u4')], 'fortran_order': False, 'shape': (%" PRIu64 ",), }", rows);
    while ((at - out) % 64 != 63) *at++ = ' ';
    *at++ = '\n';
    size_t length = (size_t)(at - out) - BEFORE;
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)length;
    out[9] = (char)(length >> 8);
    return (size_t)(at - out);
}

_Static_assert(sizeof(struct rue_augmentation) == 8 + 4 * REALS + 4, "a record of npy has no gaps");

const struct rue_augment_format rue_augment_jsonl = {"jsonl", "{\"item\":", 300 + RUE_OPERATIONS_MAX * 80,
                                                     true,    no_head,      jsonl_rows};
const struct rue_augment_format rue_augment_csv = {"csv", "item,area,", 160, false, csv_head, csv_rows};
const struct rue_augment_format rue_augment_npy = {"npy", "\x93NUMPY\x01", sizeof(struct rue_augmentation),
                                                   false, npy_head,        npy_rows};
