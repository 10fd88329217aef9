/* What is shown of a study before it runs. */
#ifndef RUE_DRY_RUN_H
#define RUE_DRY_RUN_H

#include "options.h"
#include "study.h"

/* The plan, on stderr unless `quiet`. Of a dry run on stdout: each option with its value and origin, then the
 * plan. */
void rue_plan_show(const struct rue_study *study, const struct rue_options *options, bool quiet);

#endif
