#include "shard_pattern.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS_MAX = 18 };

struct expansion {
    const char *pattern;
    rue_status (*visit)(void *context, const char *path, rue_error *error);
    void *context;
    uint64_t visited;
    char path[PATH_MAX];
};

static rue_status expand(struct expansion *e, const char *rest, size_t length, rue_error *error);

static rue_status refuse(const struct expansion *e, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_USAGE, "the pattern %s %s: give one such as train-{000000..000012}.tar",
                    e->pattern, why);
}

/* Puts `bytes` of `text` behind the path so far, and goes on with `rest`. */
static rue_status append(struct expansion *e, size_t length, const char *text, size_t bytes, const char *rest,
                         rue_error *error)
{
    if (length + bytes >= sizeof e->path) return refuse(e, "makes too long a path", error);
    memcpy(e->path + length, text, bytes);
    return expand(e, rest, length + bytes, error);
}

static size_t digits(const char *text)
{
    size_t count = 0;
    while (isdigit((unsigned char)text[count])) count++;
    return count <= DIGITS_MAX ? count : 0;
}

/* "000..012" up to the closing brace at `end`; false where it is none. */
static bool read_range(const char *text, const char *end, uint64_t *first, uint64_t *last, int *width)
{
    size_t from = digits(text);
    if (!from || strncmp(text + from, "..", 2) != 0) return false;
    const char *second = text + from + 2;
    size_t to = digits(second);
    if (!to || second + to != end) return false;
    sscanf(text, "%" SCNu64, first);
    sscanf(second, "%" SCNu64, last);
    bool padded = (text[0] == '0' && from > 1) || (second[0] == '0' && to > 1);
    *width = padded ? (int)(from > to ? from : to) : 1;
    return true;
}

static rue_status expand_range(struct expansion *e, uint64_t first, uint64_t last, int width,
                               const char *rest, size_t length, rue_error *error)
{
    char number[32];
    if (last < first) return refuse(e, "has a range that ends before it begins", error);
    if (last - first >= RUE_SHARD_PATTERN_MAX) return refuse(e, "names too many files", error);
    rue_status status = RUE_OK;
    for (uint64_t i = first; status == RUE_OK && i <= last; i++) {
        int bytes = snprintf(number, sizeof number, "%0*" PRIu64, width, i);
        status = append(e, length, number, (size_t)bytes, rest, error);
    }
    return status;
}

static rue_status expand_list(struct expansion *e, const char *words, const char *end, size_t length,
                              rue_error *error)
{
    rue_status status = RUE_OK;
    for (const char *word = words; status == RUE_OK;) {
        size_t bytes = strcspn(word, ",}");
        status = append(e, length, word, bytes, end + 1, error);
        if (word + bytes == end) break;
        word += bytes + 1;
    }
    return status;
}

static rue_status expand(struct expansion *e, const char *rest, size_t length, rue_error *error)
{
    size_t plain = strcspn(rest, "{}");
    if (plain) return append(e, length, rest, plain, rest + plain, error);
    if (!*rest) {
        e->path[length] = 0;
        if (++e->visited > RUE_SHARD_PATTERN_MAX) return refuse(e, "names too many files", error);
        return e->visit(e->context, e->path, error);
    }
    const char *end = rest + 1 + strcspn(rest + 1, "{}");
    if (*rest != '{' || *end != '}') return refuse(e, "has a brace without its other one", error);
    uint64_t first, last;
    int width;
    if (read_range(rest + 1, end, &first, &last, &width))
        return expand_range(e, first, last, width, end + 1, length, error);
    if (!memchr(rest + 1, ',', (size_t)(end - rest) - 1))
        return refuse(e, "has braces without a range", error);
    return expand_list(e, rest + 1, end, length, error);
}

rue_status rue_shard_pattern_expand(const char *pattern,
                                    rue_status (*visit)(void *context, const char *path, rue_error *error),
                                    void *context, rue_error *error)
{
    struct expansion e = {.pattern = pattern, .visit = visit, .context = context};
    return expand(&e, pattern, 0, error);
}
