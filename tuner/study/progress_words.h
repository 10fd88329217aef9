/* What the progress line says of a study that runs. Texts are cut at `bytes`. */
#ifndef RUE_PROGRESS_WORDS_H
#define RUE_PROGRESS_WORDS_H

#include "study.h"

/* ", best so far 128/2 (1.8 %)", "" before anything is ranked. */
void rue_progress_describe_best(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                                size_t variant, char *out, size_t bytes);

/* ", best so far 128/2, none better by more than 1.8 %", "" before the strategy predicts anything. */
void rue_progress_describe_claim(const struct rue_study_setup *setup, void *state, char *out, size_t bytes);

/* "57 of 60 trials: ", "57 of at most 500 trials: "; a count, as the numbers of trials are those of
 * trials.csv. */
void rue_progress_describe_count(const struct rue_study_setup *setup, size_t done, size_t made, char *out,
                                 size_t bytes);

/* Seconds that the trials which are left are expected to take. */
double rue_progress_rest_s(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                           size_t done, size_t made, uint64_t spent_ns);

#endif
