#include "label_json.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { DEPTH_MAX = 64, DIGITS_MAX = 18 };

struct json {
    const char *at, *end;
};

static char peek(struct json *j)
{
    while (j->at < j->end && strchr(" \t\r\n", *j->at) && *j->at) j->at++;
    return j->at < j->end ? *j->at : 0;
}

static bool take(struct json *j, char what)
{
    if (peek(j) != what) return false;
    j->at++;
    return true;
}

/* A string, whose bytes lie between `*from` and `*to`, escapes as they are. */
static bool take_string(struct json *j, const char **from, const char **to)
{
    if (!take(j, '"')) return false;
    for (*from = j->at; j->at < j->end && *j->at != '"'; j->at++)
        if (*j->at == '\\') j->at++;
    if (j->at >= j->end) return false;
    *to = j->at++;
    return true;
}

static bool pass_value(struct json *j, int depth);

/* The elements of an array, or the members of an object. */
static bool pass_inside(struct json *j, char last, int depth)
{
    const char *from, *to;
    if (take(j, last)) return true;
    do {
        if (last == '}' && (!take_string(j, &from, &to) || !take(j, ':'))) return false;
        if (!pass_value(j, depth)) return false;
    } while (take(j, ','));
    return take(j, last);
}

static bool pass_value(struct json *j, int depth)
{
    const char *from, *to;
    if (depth == DEPTH_MAX) return false;
    if (peek(j) == '"') return take_string(j, &from, &to);
    if (take(j, '{')) return pass_inside(j, '}', depth + 1);
    if (take(j, '[')) return pass_inside(j, ']', depth + 1);
    for (from = j->at; j->at < j->end && (isalnum((unsigned char)*j->at) || strchr("+-.", *j->at)); j->at++)
        if (!*j->at) return false;
    return j->at > from;
}

static bool take_number(struct json *j, int64_t *out)
{
    peek(j);
    bool negative = j->at < j->end && *j->at == '-';
    j->at += negative;
    const char *from = j->at;
    for (*out = 0; j->at < j->end && isdigit((unsigned char)*j->at) && j->at - from < DIGITS_MAX; j->at++)
        *out = *out * 10 + (*j->at - '0');
    if (negative) *out = -*out;
    bool any = j->at > from;
    char next = peek(j);
    return any && (next == ',' || next == '}');
}

static bool take_null(struct json *j)
{
    static const char null[] = "null";
    size_t bytes = sizeof null - 1;
    peek(j);
    if ((size_t)(j->end - j->at) < bytes || memcmp(j->at, null, bytes) != 0) return false;
    j->at += bytes;
    return true;
}

enum rue_label_found rue_label_json(const char *text, size_t bytes, const char *key, int64_t *out)
{
    struct json j = {text, text + bytes};
    const char *from, *to;
    enum rue_label_found found = RUE_LABEL_NONE;
    if (!take(&j, '{')) return RUE_LABEL_NONE;
    do {
        if (!take_string(&j, &from, &to) || !take(&j, ':')) return RUE_LABEL_NONE;
        bool wanted = (size_t)(to - from) == strlen(key) && memcmp(from, key, strlen(key)) == 0;
        if (!wanted && !pass_value(&j, 0)) return RUE_LABEL_NONE;
        if (!wanted || take_null(&j)) continue;
        if (!take_number(&j, out)) return RUE_LABEL_ODD;
        found = RUE_LABEL_NUMBER;
    } while (take(&j, ','));
    return take(&j, '}') && !peek(&j) && j.at == j.end ? found : RUE_LABEL_NONE;
}
