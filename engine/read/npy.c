#include "npy.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAGIC_BYTES = 6, AXIS_MAX = 1 << 20 };
static const char magic[] = "\x93NUMPY";
static const char *const descriptions[RUE_DTYPE_COUNT] = {[RUE_FLOAT32] = "<f4", [RUE_UINT8] = "|u1"};

/* A Python dictionary of the three keys that NumPy writes, in any order. */
struct parser {
    const char *at, *end;
    bool described, ordered, shaped;
};

static void pass_blanks(struct parser *p)
{
    while (p->at < p->end && isspace((unsigned char)*p->at)) p->at++;
}

static bool take(struct parser *p, const char *word)
{
    size_t length = strlen(word);
    pass_blanks(p);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0) return false;
    p->at += length;
    return true;
}

static bool take_quoted(struct parser *p, const char *word)
{
    static const char *const quotes[] = {"'", "\""};
    struct parser before = *p;
    for (int q = 0; q < 2; q++) {
        if (take(p, quotes[q]) && take(p, word) && take(p, quotes[q])) return true;
        *p = before;
    }
    return false;
}

static const char *take_dtype(struct parser *p, struct rue_npy *out)
{
    for (int d = 0; d < RUE_DTYPE_COUNT; d++)
        if (descriptions[d] && take_quoted(p, descriptions[d])) {
            out->dtype = (enum rue_dtype)d;
            return NULL;
        }
    return "holds values of another type than float32 (<f4) and uint8 (|u1)";
}

static const char *take_axis(struct parser *p, uint32_t *out)
{
    pass_blanks(p);
    if (p->at == p->end || !isdigit((unsigned char)*p->at)) return "has not three axes";
    for (*out = 0; p->at < p->end && isdigit((unsigned char)*p->at); p->at++)
        if ((*out = *out * 10 + (uint32_t)(*p->at - '0')) > AXIS_MAX) return "has an axis that is too long";
    return *out ? NULL : "has an axis without values";
}

static const char *take_shape(struct parser *p, struct rue_npy *out)
{
    if (!take(p, "(")) return "has a header that is damaged";
    for (int axis = 0; axis < 3; axis++) {
        if (axis && !take(p, ",")) return "has not three axes";
        const char *wrong = take_axis(p, &out->shape[axis]);
        if (wrong) return wrong;
    }
    bool more = take(p, ",");
    return take(p, ")") ? NULL : more ? "has not three axes" : "has a header that is damaged";
}

static const char *take_entry(struct parser *p, struct rue_npy *out)
{
    static const char damaged[] = "has a header that is damaged";
    if (!p->described && take_quoted(p, "descr"))
        return p->described = true, take(p, ":") ? take_dtype(p, out) : damaged;
    if (!p->shaped && take_quoted(p, "shape"))
        return p->shaped = true, take(p, ":") ? take_shape(p, out) : damaged;
    if (p->ordered || !take_quoted(p, "fortran_order") || !take(p, ":")) return damaged;
    p->ordered = true;
    if (take(p, "True")) return "is in Fortran order; save it in C order";
    return take(p, "False") ? NULL : damaged;
}

static const char *parse(struct parser *p, struct rue_npy *out)
{
    static const char damaged[] = "has a header that is damaged";
    if (!take(p, "{")) return damaged;
    while (!take(p, "}")) {
        const char *wrong = take_entry(p, out);
        if (wrong) return wrong;
        if (!take(p, ",")) {
            if (!take(p, "}")) return damaged;
            break;
        }
    }
    pass_blanks(p);
    return p->described && p->shaped && p->ordered && p->at == p->end ? NULL : damaged;
}

rue_status rue_npy_parse(const void *data, size_t bytes, struct rue_npy *out, rue_error *error)
{
    const unsigned char *d = data;
    if (bytes < MAGIC_BYTES + 6 || memcmp(d, magic, MAGIC_BYTES) != 0)
        return rue_fail(error, RUE_DATA, "is no npy file");
    if (d[6] < 1 || d[6] > 3) return rue_fail(error, RUE_DATA, "is an npy file of version %d", d[6]);
    size_t start = d[6] == 1 ? 10 : 12;
    size_t length = d[8] | (size_t)d[9] << 8;
    if (d[6] > 1) length |= (size_t)d[10] << 16 | (size_t)d[11] << 24;
    if (length > RUE_NPY_HEADER_MAX - start || length > bytes - start)
        return rue_fail(error, RUE_DATA, "has an npy header of %zu bytes, which is too long or cut", length);
    struct parser parser = {.at = (const char *)data + start, .end = (const char *)data + start + length};
    *out = (struct rue_npy){.header_bytes = start + length};
    const char *wrong = parse(&parser, out);
    if (wrong) return rue_fail(error, RUE_DATA, "%s", wrong);
    unsigned __int128 values = (unsigned __int128)out->shape[0] * out->shape[1] * out->shape[2];
    if (values > INT64_MAX / 8) return rue_fail(error, RUE_DATA, "has more values than fit a file");
    out->value_bytes = (uint64_t)values * rue_dtype_bytes[out->dtype];
    return RUE_OK;
}

void rue_npy_header(enum rue_dtype dtype, const uint32_t shape[3], char out[RUE_NPY_HEADER_BYTES])
{
    char text[RUE_NPY_HEADER_BYTES];
    memset(out, ' ', RUE_NPY_HEADER_BYTES);
    memcpy(out, magic, MAGIC_BYTES);
    memcpy(out + MAGIC_BYTES, "\1\0\x76\0", 4);
    int length =
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%u, %u, %u), }",
                 descriptions[dtype], shape[0], shape[1], shape[2]);
    memcpy(out + 10, text, (size_t)length);
    out[RUE_NPY_HEADER_BYTES - 1] = '\n';
}
