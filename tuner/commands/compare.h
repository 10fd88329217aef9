/* What `rue compare` adds to the findings of `rue tune`. */
#ifndef RUE_COMPARE_H
#define RUE_COMPARE_H

#include "study.h"

/* Measures the storage of each variant, and the time to convert a sample of the first one to each other
 * format, outside the budget. RUE_INTERRUPTED, RUE_TERMINATED. */
rue_status rue_compare_measure(const struct rue_study_setup *setup, struct rue_findings *findings,
                               rue_error *error) RUE_MUST_CHECK;

#endif
