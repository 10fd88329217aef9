/* What an earlier study found out, where it is of use to this one. */
#ifndef RUE_STUDY_PRIOR_H
#define RUE_STUDY_PRIOR_H

#include "study.h"

/* Makes the goal's prior that of each variant, after the plan, and says what is used of it; of what is
 * checked, as if nothing had changed. RUE_MEMORY; RUE_USAGE for a check with the runner of another loader. */
rue_status rue_study_make_priors(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

void rue_study_prior_close(struct rue_study_prior *prior);

/* How alike two variants of one mode are: more with the same format, then dtype, then path. */
int rue_study_variant_similarity(const struct rue_variant *one, const struct rue_variant *other);

#endif
