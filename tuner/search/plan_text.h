/* Text for a study's plan and its progress. */
#ifndef RUE_PLAN_TEXT_H
#define RUE_PLAN_TEXT_H

#include "report.h"
#include "study_ledger.h"

/* Whether the plan shows the knob: the loader has it. */
bool rue_study_shows_knob(const struct rue_study_setup *setup, size_t knob);

/* The option of a knob: "batch-size". */
const char *rue_study_option_name(const struct rue_knob_info *knob, char out[RUE_KNOB_TEXT_BYTES]);

/* Shows the plan on `out`. */
void rue_study_show_plan(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                         const struct rue_report_style *style, FILE *out);

/* Shows how many trials were made, the last one, the time that is left, and the best configuration so far.
 * `state`: of the strategy. */
void rue_study_show_progress(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                             void *state, struct rue_study_cell cell, uint64_t run_start_ns);

#endif
