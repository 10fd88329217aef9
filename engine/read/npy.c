#include "npy.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AXIS_MAX = 1 << 20, AXES_MAX = 64, MAGIC_BYTES = 6 };

/* The header: a dictionary as Python writes it. The texts and numbers are those that a header needs. */
struct header {
    char descr[16];
    bool fortran_order;
    uint64_t axes[AXES_MAX];
    size_t axis_count;
};

static const char damaged[] = "has a damaged header",
                  wrong_values[] = "has values that are not float32 (<f4), float16 (<f2) or uint8 (|u1)";

/* ---- the dictionary ---- */

static bool accept(const char **at, const char *word)
{
    while (isspace((unsigned char)**at)) ++*at;
    if (strncmp(*at, word, strlen(word)) != 0) return false;
    *at += strlen(word);
    return true;
}

static bool read_text(const char **at, char *out, size_t bytes)
{
    const char *quote = accept(at, "'") ? "'" : accept(at, "\"") ? "\"" : NULL;
    size_t length = quote ? strcspn(*at, quote) : 0;
    if (!quote || length >= bytes || !(*at)[length] || memchr(*at, '\\', length)) return false;
    snprintf(out, bytes, "%.*s", (int)length, *at);
    *at += length + 1;
    return true;
}

/* Reads "(3, 6, 6)"; with one axis "(3,)". Python 2 wrote "3L". */
static const char *read_axes(const char **at, struct header *out)
{
    bool comma = true;
    if (!accept(at, "(")) return damaged;
    for (out->axis_count = 0; !accept(at, ")"); comma = accept(at, ",")) {
        char *end;
        if (!comma || !isdigit((unsigned char)**at)) return damaged;
        if (out->axis_count == AXES_MAX) return "has too many axes";
        out->axes[out->axis_count++] = strtoull(*at, &end, 10);
        *at = end + (*end == 'L');
    }
    return out->axis_count == 1 && !comma ? damaged : NULL;
}

/* Reads the value of `key`, and adds the key to `found`. */
static const char *read_value(const char **at, const char *key, struct header *out, unsigned *found)
{
    if (strcmp(key, "shape") == 0) return *found |= 1, read_axes(at, out);
    if (strcmp(key, "descr") == 0)
        return *found |= 2, read_text(at, out->descr, sizeof out->descr) ? NULL : wrong_values;
    if (strcmp(key, "fortran_order") != 0) return damaged;
    *found |= 4;
    out->fortran_order = accept(at, "True");
    return out->fortran_order || accept(at, "False") ? NULL : damaged;
}

/* Keys in any order. As in Python, the last value of a key counts. */
static const char *read_dictionary(const char *at, struct header *out)
{
    char key[16];
    unsigned found = 0;
    bool comma = true;
    if (!accept(&at, "{")) return damaged;
    for (; !accept(&at, "}"); comma = accept(&at, ",")) {
        if (!comma || !read_text(&at, key, sizeof key) || !accept(&at, ":")) return damaged;
        const char *wrong = read_value(&at, key, out, &found);
        if (wrong) return wrong;
    }
    return found == 7 && !at[strspn(at, " \t\r\n\f")] ? NULL : damaged;
}

/* ---- what it means ---- */

/* Little endian is the order of the machine. */
static const char *find_dtype(const char *text, enum rue_dtype *out)
{
    static const char *const names[RUE_DTYPE_COUNT][4] = {[RUE_FLOAT32] = {"f4", "f", "float32", "single"},
                                                          [RUE_UINT8] = {"u1", "B", "uint8", "ubyte"},
                                                          [RUE_FLOAT16] = {"f2", "e", "float16", "half"}};
    const char *name = text + (text[0] && strchr("<=|>", text[0]));
    for (int d = 0; d < RUE_DTYPE_COUNT; d++)
        for (int i = 0; i < (name > text ? 2 : 4); i++)
            if (strcmp(name, names[d][i]) == 0 && (text[0] != '>' || rue_dtype_bytes[d] == 1))
                return *out = (enum rue_dtype)d, NULL;
    return wrong_values;
}

/* Fewer axes get leading ones of length 1. Of more, those of length 1 are left out from the first on. */
static const char *find_shape(struct header *header, uint32_t out[3])
{
    size_t left = header->axis_count, found = left < 3 ? 3 - left : 0, long_axes = 0;
    for (size_t axis = 0; axis < header->axis_count; axis++) {
        if (header->axes[axis] == 0) return "has an axis without values";
        if (header->axes[axis] > AXIS_MAX) return "has an axis that is too long";
        long_axes += header->axes[axis] > 1;
    }
    if (long_axes > 3 || left == 0) return left ? "has more than three axes" : "has no axis";
    if (header->fortran_order && long_axes > 1) return "is in Fortran order; save it in C order";
    memcpy(out, (uint32_t[]){1, 1, 1}, 3 * sizeof *out);
    for (size_t axis = 0; axis < header->axis_count; axis++)
        if (header->axes[axis] == 1 && left > 3)
            left--;
        else
            out[found++] = (uint32_t)header->axes[axis];
    return NULL;
}

rue_status rue_npy_parse(const void *data, size_t bytes, struct rue_npy *out, rue_error *error)
{
    const unsigned char *d = data;
    char text[RUE_NPY_HEADER_MAX + 1];
    struct header header;
    if (bytes < MAGIC_BYTES + 6 || memcmp(d, "\x93NUMPY", MAGIC_BYTES) != 0)
        return rue_fail(error, RUE_DATA, "is not an npy file");
    if (d[6] < 1 || d[6] > 3)
        return rue_fail(error, RUE_DATA,
                        "has version %d of the npy format, and versions 1 to 3 are supported", d[6]);
    size_t start = d[6] == 1 ? 10 : 12;
    size_t length = d[8] | (size_t)d[9] << 8;
    if (d[6] > 1) length |= (size_t)d[10] << 16 | (size_t)d[11] << 24;
    if (length > RUE_NPY_HEADER_MAX - start || length > bytes - start)
        return rue_fail(error, RUE_DATA, "has an npy header of %zu bytes, which is too long or truncated",
                        length);
    *out = (struct rue_npy){.header_bytes = start + length};
    memcpy(text, d + start, length);
    text[length] = 0;
    const char *wrong = strlen(text) == length ? read_dictionary(text, &header) : damaged;
    if (!wrong) wrong = find_dtype(header.descr, &out->dtype);
    if (!wrong) wrong = find_shape(&header, out->shape);
    if (wrong) return rue_fail(error, RUE_DATA, "%s", wrong);
    unsigned __int128 values = (unsigned __int128)out->shape[0] * out->shape[1] * out->shape[2];
    if (values > INT64_MAX / 8) return rue_fail(error, RUE_DATA, "has more values than a file can hold");
    out->value_bytes = (uint64_t)values * rue_dtype_bytes[out->dtype];
    return RUE_OK;
}

rue_status rue_npy_add_item(struct rue_index *index, struct rue_entry *entry, const void *head, size_t bytes,
                            rue_error *error)
{
    struct rue_npy npy;
    rue_status status = rue_npy_parse(head, bytes, &npy, error);
    if (status != RUE_OK) return status;
    if (npy.header_bytes + npy.value_bytes != entry->bytes)
        return rue_fail(error, RUE_DATA, "does not have the bytes that its shape needs");
    if (index->count == 0) {
        index->dtype = npy.dtype;
        memcpy(index->shape, npy.shape, sizeof index->shape);
    }
    if (npy.dtype != index->dtype || memcmp(npy.shape, index->shape, sizeof index->shape) != 0)
        return rue_fail(error, RUE_DATA, "does not have the type and shape of the first one");
    entry->lead += (uint32_t)npy.header_bytes;
    entry->offset += npy.header_bytes;
    entry->bytes = npy.value_bytes;
    return RUE_OK;
}
