/* What --dry-run shows of a command that runs a study. */
#ifndef RUE_DRY_RUN_H
#define RUE_DRY_RUN_H

#include <jansson.h>

#include "options.h"
#include "study.h"

/* Each option with its value and origin, then the plan of the study, which has one; `as_json`: as an object,
 * rue.plan/1. RUE_MEMORY. */
rue_status rue_dry_run_show(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                            const struct rue_options *options, bool as_json, rue_error *error) RUE_MUST_CHECK;

/* The options alone. `more` (nullable, a NULL name at its end) says what further ones have come to. */
void rue_dry_run_show_options(const struct rue_study_setup *setup, const struct rue_options *options,
                              const struct rue_unset *more);
json_t *rue_dry_run_options_json(const struct rue_study_setup *setup, const struct rue_options *options,
                                 const struct rue_unset *more);

#endif
