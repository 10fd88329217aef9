/* "Did you mean": the known word that a mistyped one is nearest to. */
#ifndef RUE_SUGGEST_H
#define RUE_SUGGEST_H

#include <stddef.h>

/* The word of `words` [count] that is nearest to `typed` by Damerau-Levenshtein distance (optimal string
 * alignment), or that it is the beginning of; NULL when none is near enough: more than a third of its letters
 * differ. */
const char *rue_suggest(const char *typed, const char *const *words, size_t count);

enum { RUE_SUGGESTION_BYTES = 160 };

/* How a message ends that refuses `typed`: ": did you mean 'word'?", with `before` put before the word; ""
 * when none is near enough. Returns `out`. */
const char *rue_did_you_mean(const char *typed, const char *const *words, size_t count, const char *before,
                             char out[RUE_SUGGESTION_BYTES]);

#endif
