#include "npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AXIS_MAX = 1 << 20, MAGIC_BYTES = 6 };

static const char *read_dtype(const char *text, enum rue_dtype *out)
{
    static const char *const descriptions[RUE_DTYPE_COUNT] = {
        [RUE_FLOAT32] = "<f4", [RUE_UINT8] = "|u1", [RUE_FLOAT16] = "<f2"};
    for (int d = 0; d < RUE_DTYPE_COUNT; d++)
        if (strcmp(text, descriptions[d]) == 0) return *out = (enum rue_dtype)d, NULL;
    return "has values that are not float32 (<f4), float16 (<f2) or uint8 (|u1)";
}

static const char *read_shape(const char *text, uint32_t out[3])
{
    char axes[3][8];
    int end = 0;
    if (sscanf(text, "%7[0-9], %7[0-9], %7[0-9]%n", axes[0], axes[1], axes[2], &end) < 3 || text[end] != ')')
        return "does not have three axes";
    for (int axis = 0; axis < 3; axis++) {
        out[axis] = (uint32_t)strtoul(axes[axis], NULL, 10);
        if (out[axis] == 0) return "has an axis without values";
        if (out[axis] > AXIS_MAX) return "has an axis that is too long";
    }
    return NULL;
}

/* Accepts only the form that NumPy writes. */
static const char *read_dictionary(const char *text, struct rue_npy *out)
{
    char dtype[8], order[8];
    int end = 0;
    if (sscanf(text, "{'descr': '%7[^']', 'fortran_order': %7[A-Za-z], 'shape': (%n", dtype, order, &end) <
            2 ||
        !end)
        return "has a damaged header";
    if (strcmp(order, "False") != 0) return "is in Fortran order; save it in C order";
    const char *wrong = read_dtype(dtype, &out->dtype);
    return wrong ? wrong : read_shape(text + end, out->shape);
}

rue_status rue_npy_parse(const void *data, size_t bytes, struct rue_npy *out, rue_error *error)
{
    const unsigned char *d = data;
    char text[RUE_NPY_HEADER_MAX + 1];
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
    const char *wrong = read_dictionary(text, out);
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
