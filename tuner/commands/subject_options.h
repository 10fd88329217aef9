/* What is measured: data, loader, models and knobs. */
#ifndef RUE_SUBJECT_OPTIONS_H
#define RUE_SUBJECT_OPTIONS_H

#include "options.h"
#include "study_goal.h"

/* Reads these options into `goal`. RUE_USAGE. */
rue_status rue_subject_options_read(const struct rue_options *options, struct rue_study_goal *goal,
                                    rue_error *error) RUE_MUST_CHECK;

/* Returns `status`. If it is that of data which rue's own loader cannot read, `error` may become advice, as
 * of rue_data_advise. */
rue_status rue_subject_advise(rue_status status, const struct rue_study_goal *goal, rue_error *error);

#endif
