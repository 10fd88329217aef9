/* What trials cost, as short ones tell: how fast the loader of each variant is, and what computing takes. */
#ifndef RUE_STUDY_COSTS_H
#define RUE_STUDY_COSTS_H

#include "study.h"

/* Probes the loader of each variant and the models, once. As rue_study_measure fails, and as
 * rue_study_fail_probe. */
rue_status rue_study_probe(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                           rue_error *error) RUE_MUST_CHECK;

/* One short trial of each variant's loader, after which what everything takes is known from below. */
rue_status rue_study_probe_least(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 rue_error *error) RUE_MUST_CHECK;

/* What the first ok trial of the variant's loader says of one worker's rate, and of what a trial costs beside
 * its own time. */
void rue_study_note_loader(struct rue_study_setup *setup, size_t variant,
                           const struct rue_trial_result *result);

/* The same of the first ok compute trial of a model that is not known. */
void rue_study_note_compute(struct rue_study_setup *setup, size_t model,
                            const struct rue_trial_result *result);

/* Seconds that the model computes on a batch: as measured, else as is known of it; 0: not known. */
double rue_study_batch_s(const struct rue_study_setup *setup, size_t model, uint64_t batch);

/* Expected seconds of one joint trial of `images`, with what it costs beside its own time; RUE_NONE: of the
 * loader alone. What was not probed costs nothing. The loader is taken to speed up with each worker until it
 * reaches its rate with one on every CPU. num_workers = 0: loading and computing, one after the other. Else
 * the slower of the two, and the first batch, which one worker loads where workers load whole batches, and
 * all of them where they share it. */
double rue_study_trial_s(const struct rue_study_setup *setup, size_t variant, size_t model,
                         const struct rue_config *config, uint64_t images);

/* Images of a joint trial of a strategy that does not predict: the whole job, unless trials are short. */
uint64_t rue_study_trial_images(const struct rue_study_setup *setup, size_t variant,
                                const struct rue_config *config);

/* Of such trials with `config` on every model and variant, and of the whole space, all repeats. */
double rue_study_config_s(const struct rue_study_setup *setup, const struct rue_config *config);
double rue_study_whole_s(const struct rue_study_setup *setup);

/* Seconds that a budget of time leaves for trials, at least 0; the reports need a part of it. */
double rue_study_budget_left_s(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger);

/* Whether a number of trials is enough for one configuration on every scenario. RUE_USAGE. */
rue_status rue_study_check_trials(const struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* Whether the budget holds the smallest study of so many variants, the last of which may not be open yet: one
 * trial of the cheapest configuration on every scenario, and the probes that a strategy that predicts cannot
 * do without. What is not known yet costs nothing, so this may be asked again when more is known. RUE_USAGE,
 * with the least budget that is enough as far as is known; of a strategy that does not predict, for two
 * configurations where there are two: one alone compares with nothing. */
rue_status rue_study_check_smallest(const struct rue_study_setup *setup,
                                    const struct rue_study_ledger *ledger, size_t variants,
                                    rue_error *error) RUE_MUST_CHECK;

#endif
