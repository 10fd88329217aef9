/* Changes of the machine, those that earlier runs of a study noticed among them, and disturbed trials. */
#ifndef RUE_STUDY_CHANGES_H
#define RUE_STUDY_CHANGES_H

#include "study.h"

/* Takes over what the last run that measured any of the same knew of changes of the machine and of disturbed
 * trials. RUE_STORE, RUE_MEMORY. */
rue_status rue_study_take_changes(struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

/* Notes a change, also in the store: trials of which nobody knows whether they were made before or after it
 * answer nothing more. RUE_STORE, RUE_MEMORY. */
rue_status rue_study_note_change(struct rue_study *study, const struct rue_notice *notice,
                                 rue_error *error) RUE_MUST_CHECK;

/* Marks the row of a disturbed trial, where there is one; those of the trials that were taken over. */
void rue_study_mark(struct rue_study *study, uint64_t trial);
void rue_study_take_marks(struct rue_study *study);

/* Whether nobody knows if a trial was made before or after a change. */
bool rue_study_is_unsure(const struct rue_study *study, size_t trial);

#endif
