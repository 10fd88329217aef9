/* What trials cost, as short ones tell: how fast the loader of each variant is, and what computing takes. */
#ifndef RUE_STUDY_COSTS_H
#define RUE_STUDY_COSTS_H

#include "study.h"

/* Probes the loader of each variant and the models, once: fills the study's `scenarios` and
 * `trial_overhead_s`. As rue_study_measure fails, and as rue_study_fail_probe. */
rue_status rue_study_probe(struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

/* What the first ok trial of the variant's loader says of one worker's rate, and of what a trial costs beside
 * its own time. */
void rue_study_note_loader(struct rue_study *study, size_t variant, const struct rue_trial_result *result);

/* The same of the first ok compute trial of a model that is not known. */
void rue_study_note_compute(struct rue_study *study, size_t model, const struct rue_trial_result *result);

/* Seconds that measuring everything takes: at least, as one short trial of each variant's loader says, 0
 * where it says nothing; and about, as all probes say, stored or not. */
rue_status rue_study_least_s(struct rue_study *study, double *out, rue_error *error) RUE_MUST_CHECK;
rue_status rue_study_whole_s(struct rue_study *study, double *out, rue_error *error) RUE_MUST_CHECK;

#endif
