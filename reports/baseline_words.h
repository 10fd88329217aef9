/* What is gained over what people use anyway, in sentences as those of verdict.h. */
#ifndef RUE_BASELINE_WORDS_H
#define RUE_BASELINE_WORDS_H

#include "findings.h"

/* "" where there is no baseline. */
void rue_baseline_words(const struct rue_variant_findings *variant, bool unicode, char *out, size_t bytes);

#endif
