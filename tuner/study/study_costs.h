/* Estimates what trials cost from short ones: the rate of each variant's loader, and the time to compute. */
#ifndef RUE_STUDY_COSTS_H
#define RUE_STUDY_COSTS_H

#include "study_ledger.h"

/* Derives one worker's rate and the overhead of a trial from the first ok trial of the variant's loader. */
void rue_study_note_loader(struct rue_study_setup *setup, size_t variant,
                           const struct rue_trial_result *result);

/* Derives the time per image of an unknown model from its first ok compute trial. */
void rue_study_note_compute(struct rue_study_setup *setup, size_t model,
                            const struct rue_trial_result *result);

/* Expected seconds of one joint trial of `images`, with its overhead; model RUE_NONE: a load-only trial. What
 * was not probed counts as 0 s. The loader's rate grows in proportion to the workers, up to its rate with one
 * worker on every CPU. num_workers = 0: loading plus computing. Else the slower of both, plus the first
 * batch, which one worker loads, or all of them if workers share a batch. */
double rue_study_trial_s(const struct rue_study_setup *setup, size_t variant, size_t model,
                         const struct rue_config *config, uint64_t images);

/* Images of a joint trial of a strategy that does not predict: the whole job, or fewer for short trials. */
uint64_t rue_study_trial_images(const struct rue_study_setup *setup, size_t variant,
                                const struct rue_config *config);

/* Seconds of such trials with `config` on every model and variant; of the whole space, all repeats. */
double rue_study_config_s(const struct rue_study_setup *setup, const struct rue_config *config);
double rue_study_whole_s(const struct rue_study_setup *setup);

/* Remaining seconds for trials in a budget of time, at least 0; 3 % of the budget is reserved for reports. */
double rue_study_budget_left_s(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger);

/* RUE_USAGE if a budget of trials is too small for one configuration on every scenario. */
rue_status rue_study_check_trials(const struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* RUE_USAGE, with a budget that suffices, if the budget is too small for the smallest study of `variants`
 * variants. The last one may not be open yet. The smallest study has one trial of the cheapest
 * configuration on every scenario, and the probes that a predicting strategy needs. Unknown costs count as
 * 0, so call this again when more is known. The suggested budget suffices for two configurations if the
 * strategy does not predict. */
rue_status rue_study_check_smallest(const struct rue_study_setup *setup,
                                    const struct rue_study_ledger *ledger, size_t variants,
                                    rue_error *error) RUE_MUST_CHECK;

#endif
