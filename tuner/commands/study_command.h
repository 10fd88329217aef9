/* What tune, compare and scale share: from options to a study that is planned. */
#ifndef RUE_STUDY_COMMAND_H
#define RUE_STUDY_COMMAND_H

#include "options.h"
#include "study.h"

/* Reads the options that all of them have into `goal`. RUE_USAGE. */
rue_status rue_study_command_read(const struct rue_options *options, struct rue_study_goal *goal,
                                  rue_error *error) RUE_MUST_CHECK;

/* Opens and plans the study, shows its plan on stderr, and performs it. A dry run prints each option with
 * value and origin, then the plan, to stdout instead. */
rue_status rue_study_command_run(const struct rue_study_goal *goal, const struct rue_options *options,
                                 rue_status (*perform)(struct rue_study *study,
                                                       const struct rue_options *options, rue_error *error),
                                 rue_error *error) RUE_MUST_CHECK;

#endif
