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

/* Whether each of the reports (nullable, NULL at the end) may be written to the folder: see
 * rue_output_check. Also RUE_STORE where `input` (nullable), a table that is read, is one of them. */
rue_status rue_study_check_reports(const struct rue_report *const *reports, const char *folder,
                                   const char *input, rue_error *error) RUE_MUST_CHECK;

/* What the folder of a sample is made for (part.h). */
void rue_study_sample_name(const struct rue_study_setup *setup, char out[PATH_MAX]);

/* As rue_folder_lock, which `option` is for: makes `folder` (changed and restored meanwhile) where it is
 * missing and locks it. Signals are deferred until rue_study_unlock_folder. RUE_STORE when another process
 * holds the lock. */
rue_status rue_study_lock_folder(char *folder, const char *option, int *lock,
                                 rue_error *error) RUE_MUST_CHECK;

/* Of -1: nothing. */
void rue_study_unlock_folder(int lock);

/* Opens the store and begins a run in it; says how many trials it holds. */
rue_status rue_study_open_store(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                rue_error *error) RUE_MUST_CHECK;

/* Removes the store, which is closed, and the folders that the study made, those that hold nothing else. */
void rue_study_discard(const struct rue_study_setup *setup);

#endif
