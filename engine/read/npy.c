#include "npy.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { AXIS_MAX = 1 << 20, MAGIC_BYTES = 6 };
static const char damaged[] = "has a header that is damaged";

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* What a Python dictionary has behind a key, which is quoted; NULL: it has no such key. */
static const char *find_value(const char *dictionary, const char *key)
{
    const char *at = strstr(dictionary, key);
    if (at) at = skip_blanks(at + strlen(key));
    return at && *at == ':' ? skip_blanks(at + 1) : NULL;
}

static const char *read_dtype(const char *value, enum rue_dtype *out)
{
    static const char *const descriptions[RUE_DTYPE_COUNT] = {[RUE_FLOAT32] = "'<f4'", [RUE_UINT8] = "'|u1'"};
    if (!value) return damaged;
    for (int d = 0; d < RUE_DTYPE_COUNT; d++)
        if (strncmp(value, descriptions[d], strlen(descriptions[d])) == 0)
            return *out = (enum rue_dtype)d, NULL;
    return "holds values of another type than float32 (<f4) and uint8 (|u1)";
}

static const char *read_shape(const char *value, uint32_t out[3])
{
    if (!value || *value != '(') return damaged;
    for (int axis = 0; axis < 3; axis++) {
        char *end;
        value = skip_blanks(value + 1);
        if (!isdigit((unsigned char)*value)) return "has not three axes";
        unsigned long long length = strtoull(value, &end, 10);
        if (length == 0) return "has an axis without values";
        if (length > AXIS_MAX) return "has an axis that is too long";
        out[axis] = (uint32_t)length;
        value = skip_blanks(end);
        if (*value != ',' && *value != ')') return damaged;
        if (*value == ')' && axis < 2) return "has not three axes";
    }
    return *value == ')' || *skip_blanks(value + 1) == ')' ? NULL : "has not three axes";
}

/* The keys that NumPy writes, in any order. */
static const char *read_dictionary(char *text, struct rue_npy *out)
{
    size_t bytes = strlen(text);
    while (bytes && isspace((unsigned char)text[bytes - 1])) bytes--;
    if (*skip_blanks(text) != '{' || bytes == 0 || text[bytes - 1] != '}') return damaged;
    for (char *at = text; *at; at++)
        if (*at == '"') *at = '\'';
    const char *order = find_value(text, "'fortran_order'");
    const char *wrong = read_dtype(find_value(text, "'descr'"), &out->dtype);
    if (!wrong) wrong = read_shape(find_value(text, "'shape'"), out->shape);
    if (!wrong && order && strncmp(order, "True", 4) == 0) wrong = "is in Fortran order; save it in C order";
    return wrong || (order && strncmp(order, "False", 5) == 0) ? wrong : damaged;
}

rue_status rue_npy_parse(const void *data, size_t bytes, struct rue_npy *out, rue_error *error)
{
    const unsigned char *d = data;
    char text[RUE_NPY_HEADER_MAX + 1];
    if (bytes < MAGIC_BYTES + 6 || memcmp(d, "\x93NUMPY", MAGIC_BYTES) != 0)
        return rue_fail(error, RUE_DATA, "is no npy file");
    if (d[6] < 1 || d[6] > 3) return rue_fail(error, RUE_DATA, "is an npy file of version %d", d[6]);
    size_t start = d[6] == 1 ? 10 : 12;
    size_t length = d[8] | (size_t)d[9] << 8;
    if (d[6] > 1) length |= (size_t)d[10] << 16 | (size_t)d[11] << 24;
    if (length > RUE_NPY_HEADER_MAX - start || length > bytes - start)
        return rue_fail(error, RUE_DATA, "has an npy header of %zu bytes, which is too long or cut", length);
    *out = (struct rue_npy){.header_bytes = start + length};
    memcpy(text, d + start, length);
    text[length] = 0;
    const char *wrong = read_dictionary(text, out);
    if (wrong) return rue_fail(error, RUE_DATA, "%s", wrong);
    unsigned __int128 values = (unsigned __int128)out->shape[0] * out->shape[1] * out->shape[2];
    if (values > INT64_MAX / 8) return rue_fail(error, RUE_DATA, "has more values than fit a file");
    out->value_bytes = (uint64_t)values * rue_dtype_bytes[out->dtype];
    return RUE_OK;
}
