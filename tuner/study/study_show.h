/* Text for a study's plan and its progress. */
#ifndef RUE_STUDY_SHOW_H
#define RUE_STUDY_SHOW_H

#include "report.h"
#include "study.h"

/* The option of a knob: "batch-size". */
const char *rue_study_option_name(const struct rue_knob_info *knob, char out[RUE_KNOB_TEXT_BYTES]);

/* Shows the plan on `out`. */
void rue_study_show_plan(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                         const struct rue_report_style *style, FILE *out);

/* ", best so far 128/2 (regret 1.8 %)", the mean regret; "" before anything is ranked. */
void rue_progress_describe_best(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                                size_t variant, char *out, size_t bytes);

/* ", best so far 128/2, no other more than 1.8 points better", "" before the strategy predicts anything. */
void rue_progress_describe_claim(const struct rue_study_setup *setup, void *state, char *out, size_t bytes);

/* "57 of 60 trials: ", "57 of at most 500 trials: ". Not trial numbers: these are rows of trials.csv. */
void rue_progress_describe_count(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                                 char *out, size_t bytes);

/* Expected seconds of the remaining trials. */
double rue_progress_rest_s(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                           uint64_t spent_ns);

#endif
