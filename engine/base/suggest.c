#include "suggest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 64 };

static unsigned min_unsigned(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Transpositions need three rows of the table. Only the first WORD_MAX letters are compared. */
static unsigned edit_distance(const char *a, const char *b)
{
    size_t n = strnlen(a, WORD_MAX), m = strnlen(b, WORD_MAX);
    unsigned rows[3][WORD_MAX + 1];
    for (size_t j = 0; j <= m; j++) rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            row[j] =
                min_unsigned(min_unsigned(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min_unsigned(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

/* "world-size" for "world". */
static bool is_longer(const char *typed, const char *word)
{
    return strlen(word) >= 4 && strncmp(typed, word, strlen(word)) == 0;
}

const char *rue_suggest(const char *typed, const char *const *words, size_t count)
{
    const char *best = NULL;
    unsigned best_distance = (unsigned)strnlen(typed, WORD_MAX) / 3 + 1;
    for (size_t i = 0; i < count; i++) {
        unsigned d = edit_distance(typed, words[i]);
        if (d < best_distance) best_distance = d, best = words[i];
    }
    for (size_t i = 0; !best && strlen(typed) >= 3 && i < count; i++)
        if (strstr(words[i], typed) || is_longer(typed, words[i])) best = words[i];
    return best;
}

const char *rue_did_you_mean(const char *typed, const char *const *words, size_t count, const char *before,
                             char out[RUE_SUGGESTION_BYTES])
{
    const char *near = rue_suggest(typed, words, count);
    out[0] = 0;
    if (near) snprintf(out, RUE_SUGGESTION_BYTES, ": did you mean '%s%s'?", before, near);
    return out;
}
