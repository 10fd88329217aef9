/* How long it takes to convert the first variant to the others, for `rue compare`. */
#ifndef RUE_CONVERSION_H
#define RUE_CONVERSION_H

#include "study_ledger.h"

/* Measures the storage of each variant, and the time to convert a sample of the first one to each other
 * format, outside the budget. RUE_INTERRUPTED, RUE_TERMINATED. */
rue_status rue_conversion_measure(const struct rue_study_setup *setup, struct rue_findings *findings,
                                  rue_error *error) RUE_MUST_CHECK;

#endif
