/* The folder of a study and the store in it. */
#ifndef RUE_STUDY_FOLDER_H
#define RUE_STUDY_FOLDER_H

#include "study.h"

/* The converted sample, in a folder of its own in it (part.h). */
#define RUE_STUDY_SAMPLE "sample.tensor"

/* What a scaling experiment says of the machine and the data. */
#define RUE_STUDY_SYSINFO "sysinfo.json"

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
