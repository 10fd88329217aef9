/* The steps of opening a study, except those in study_space.h. They fail as rue_study_open does.
 *
 * 1. Choose models and data, before anything is written.
 * 2. Open an existing store. A fresh one is opened after step 3, so that the old store remains until then.
 * 3. Open the given data, which gives J.
 * 4. Convert a sample of raw data. */
#ifndef RUE_STUDY_OPENING_H
#define RUE_STUDY_OPENING_H

#include "study_ledger.h"

/* Chooses the models. (study_models.c) */
rue_status rue_study_choose_models(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* Detects the data; lets the runner open them; converts the sample, or reports why not. (study_data.c) */
rue_status rue_study_choose_data(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;
rue_status rue_study_open_data(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;
rue_status rue_study_add_sample(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                rue_error *error) RUE_MUST_CHECK;

/* Tries the first model that computes on a GPU. RUE_INFEASIBLE, with the reason, if it does not run.
 * (study_models.c) */
rue_status rue_study_try_models(const struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* The converted sample, in its own folder in the study's folder (part.h). */
#define RUE_STUDY_SAMPLE "sample.tensor"

/* Chooses setup->place.folder; creates nothing. */
void rue_study_choose_folder(struct rue_study_setup *setup);

/* Creates the chosen folder, locks it, checks where reports will be written, and removes the sample of a
 * killed study. */
rue_status rue_study_open_folder(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* The path for which the sample's folder is made (part.h). */
void rue_study_sample_name(const struct rue_study_setup *setup, char out[PATH_MAX]);

/* Opens the store and begins a run in it; counts its trials. */
rue_status rue_study_open_store(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                rue_error *error) RUE_MUST_CHECK;

/* The wall clock as a run's start: ISO 8601, UTC. (study.c) */
void rue_study_now(char *out, size_t bytes);

/* Removes the closed store, and the folders that the study created if they are empty. */
void rue_study_discard(const struct rue_study_setup *setup);

#endif
