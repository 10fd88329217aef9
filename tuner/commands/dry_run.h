/* Shows the plan of a study before it runs. */
#ifndef RUE_DRY_RUN_H
#define RUE_DRY_RUN_H

#include "options.h"
#include "study.h"

/* Prints the plan to stderr unless `quiet`. A dry run prints each option with value and origin, then the
 * plan, to stdout. */
void rue_plan_show(const struct rue_study *study, const struct rue_options *options, bool quiet);

#endif
