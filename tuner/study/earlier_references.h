/* What the references of earlier runs of a study took: a machine that has changed between two runs is noticed
 * as one that changes in a run. */
#ifndef RUE_EARLIER_REFERENCES_H
#define RUE_EARLIER_REFERENCES_H

#include "baseline.h"
#include "study.h"

/* Makes `request`, that of a reference that is to be begun, the one that was made there, and fills
 * `baseline`, zeroed, with the logarithms of the seconds that it takes at the speed of now. Neither is
 * changed where there were none. RUE_STORE, RUE_MEMORY. */
rue_status rue_earlier_references(struct rue_study *study, size_t variant, size_t model,
                                  struct rue_trial_request *request, struct rue_baseline *baseline,
                                  rue_error *error) RUE_MUST_CHECK;

#endif
