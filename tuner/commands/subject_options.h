/* What is measured: data, loader, models and knobs. */
#ifndef RUE_SUBJECT_OPTIONS_H
#define RUE_SUBJECT_OPTIONS_H

#include "options.h"
#include "study_goal.h"

/* Reads these options into `goal`. RUE_USAGE. */
rue_status rue_subject_options_read(const struct rue_options *options, struct rue_study_goal *goal,
                                    rue_error *error) RUE_MUST_CHECK;

#endif
