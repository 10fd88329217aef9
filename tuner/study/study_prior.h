/* Estimates of an earlier study as the prior of this one. */
#ifndef RUE_STUDY_PRIOR_H
#define RUE_STUDY_PRIOR_H

#include "study_ledger.h"

/* Makes each variant's prior from the goal's, after the plan, and reports what is used. For a check the prior
 * assumes that nothing has changed. RUE_MEMORY; RUE_USAGE: a check with another loader. */
rue_status rue_study_make_priors(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

void rue_study_prior_close(struct rue_study_prior *prior);

/* How similar two variants of one mode are: by format, then dtype, then path. */
int rue_study_variant_similarity(const struct rue_variant *one, const struct rue_variant *other);

#endif
