#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "zarr_metadata.h"

/* The code of an escape such as \u00e9; -1: it is not one. */
static long read_escape(const char *at)
{
    char digits[5] = "";
    if (at[0] != '\\' || at[1] != 'u') return -1;
    for (int i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)at[2 + i])) return -1;
        digits[i] = at[2 + i];
    }
    return strtol(digits, NULL, 16);
}

/* Copies a character or an escape of a text. NUL and a half of a surrogate pair become the text of their
 * escape. */
static size_t copy_character(const char *from, char *to, size_t *used)
{
    enum { ESCAPE = 6 };
    const unsigned char *bytes = (const unsigned char *)from;
    if (bytes[0] == 0xED && bytes[1] >= 0xA0 && bytes[2]) { /* UTF-8 of a surrogate */
        memcpy(to + *used, "\xEF\xBF\xBD", 3);
        *used += 3;
        return 3;
    }
    long code = read_escape(from);
    bool high = code >= 0xD800 && code <= 0xDBFF, low = code >= 0xDC00 && code <= 0xDFFF;
    long next = high ? read_escape(from + ESCAPE) : -1;
    bool pair = next >= 0xDC00 && next <= 0xDFFF;
    size_t length = pair ? 2 * ESCAPE : code >= 0 ? ESCAPE : from[0] == '\\' && from[1] ? 2 : 1;
    if (code == 0 || low || (high && !pair)) to[(*used)++] = '\\';
    memcpy(to + *used, from, length);
    *used += length;
    return length;
}

/* Copies what is outside of texts. Numbers that are infinite, NaN or integers of more than 18 digits become
 * texts. */
static size_t copy_token(const char *from, char *to, size_t *used)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    size_t length = strspn(from, "+-.0123456789Ee"), sign = from[0] == '-', quoted = 0;
    if (length) {
        char *end;
        bool whole = sign + strspn(from + sign, "0123456789") == length;
        bool refused = isinf(strtod(from, &end)) || (whole && length - sign > 18);
        if (refused && end == from + length) quoted = length;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(from, words[i], strlen(words[i])) == 0) quoted = strlen(words[i]);
    if (quoted) {
        to[(*used)++] = '"';
        memcpy(to + *used, from, quoted);
        *used += quoted;
        to[(*used)++] = '"';
        return quoted;
    }
    memcpy(to + *used, from, length += !length);
    *used += length;
    return length;
}

json_t *rue_zarr_load_json(const char *text, size_t bytes, json_error_t *fault)
{
    char *valid = malloc(2 * bytes + 1);
    size_t used = 0;
    bool inside = false;
    for (size_t i = 0; valid && i < bytes;) {
        inside ^= text[i] == '"';
        i += inside ? copy_character(text + i, valid, &used) : copy_token(text + i, valid, &used);
    }
    json_t *object = json_loadb(valid ? valid : "", used, JSON_REJECT_DUPLICATES, fault);
    free(valid);
    return object;
}
