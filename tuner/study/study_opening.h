/* The steps of opening a study, beside those in study_space.h; they fail as rue_study_perform.
 *
 * Models and data are chosen before anything is written; a store that is to be used is open before the data
 * are read (a fresh one only once they have been, so that the old one stays in its place until then); the
 * data's first variants are open, and J known, before a sample of raw data is converted for the comparison,
 * where one is wanted. */
#ifndef RUE_STUDY_OPENING_H
#define RUE_STUDY_OPENING_H

#include "study.h"

/* Which models the study is about. (study_models.c) */
rue_status rue_study_choose_models(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* Says what the data are; has the runner open them; converts the sample, or says why there is none.
 * (study_data.c) */
rue_status rue_study_choose_data(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;
rue_status rue_study_open_data(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;
rue_status rue_study_add_sample(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                rue_error *error) RUE_MUST_CHECK;

/* Whether there is what models that compute need, as the first of them tells: RUE_INFEASIBLE with the reason
 * where there is not. (study_models.c) */
rue_status rue_study_try_models(const struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* ---- the folder of a study, and the store in it (study_folder.c) ---- */

/* The converted sample, in a folder of its own in it (part.h). */
#define RUE_STUDY_SAMPLE "sample.tensor"

/* Chooses study->setup.place.folder; nothing is made. */
void rue_study_choose_folder(struct rue_study_setup *setup);

/* Makes the chosen folder, locks it, checks the places of the reports and removes a sample that a killed
 * study left. */
rue_status rue_study_open_folder(struct rue_study_setup *setup, rue_error *error) RUE_MUST_CHECK;

/* What the folder of a sample is made for (part.h). */
void rue_study_sample_name(const struct rue_study_setup *setup, char out[PATH_MAX]);

/* Opens the store and begins a run in it; says how many trials it holds. */
rue_status rue_study_open_store(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                rue_error *error) RUE_MUST_CHECK;

/* Removes the store, which is closed, and the folders that the study made, those that hold nothing else. */
void rue_study_discard(const struct rue_study_setup *setup);

#endif
