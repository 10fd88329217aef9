/* Measures what `rue compare` shows beside a study of several variants. */
#ifndef RUE_COMPARE_H
#define RUE_COMPARE_H

#include "side_by_side.h"
#include "study.h"

/* Loads with each variant alone, at its best and at the common configuration, and converts `sample_images` of
 * the first variant to the format of each other one to see what making it takes.
 * Its trials become rows of the findings, too. `out` borrows from study and findings, and is closed by the
 * caller also where this fails. RUE_MEMORY, RUE_STORE, RUE_RUNNER and the signals' statuses. */
rue_status rue_compare_measure(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               struct rue_findings *findings, uint64_t sample_images,
                               struct rue_side_by_side *out, rue_error *error) RUE_MUST_CHECK;

/* What that will do, in words. */
void rue_compare_describe(const struct rue_study_setup *setup, uint64_t sample_images, char *out,
                          size_t bytes);

void rue_compare_close(struct rue_side_by_side *compared);

#endif
