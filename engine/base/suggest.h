/* "Did you mean": finds the known word that is most similar to a mistyped one. */
#ifndef RUE_SUGGEST_H
#define RUE_SUGGEST_H

#include <stddef.h>

/* The word of `words` [count] with the smallest Damerau-Levenshtein distance (optimal string alignment) to
 * `typed`, or one that begins with `typed`, or with which `typed` begins. NULL if more than a third of the
 * letters differ. */
const char *rue_suggest(const char *typed, const char *const *words, size_t count);

enum { RUE_SUGGESTION_BYTES = 160 };

/* Writes ": did you mean 'word'?" to `out`, with `before` in front of the word, or "". Returns `out`. */
const char *rue_did_you_mean(const char *typed, const char *const *words, size_t count, const char *before,
                             char out[RUE_SUGGESTION_BYTES]);

#endif
