/* The answers beside the winner, in sentences as those of verdict.h. */
#ifndef RUE_ANSWER_WORDS_H
#define RUE_ANSWER_WORDS_H

#include "findings.h"

/* How many configurations keep every model near its best, and which; which models have a much better one of
 * their own; what a model that was not measured may lose; what would need less memory. "" where nothing is
 * recommended or the answers are not known. */
void rue_answer_words(const struct rue_variant_findings *variant, bool unicode, char *out, size_t bytes);

#endif
