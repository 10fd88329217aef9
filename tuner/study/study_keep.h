/* What a study found out goes into its store. */
#ifndef RUE_STUDY_KEEP_H
#define RUE_STUDY_KEEP_H

#include "study.h"

/* Keeps the findings in the store as the recommendation.json that they are, with what of the store they rest
 * on: `findings` has that, too, from then on. RUE_STORE, RUE_MEMORY. */
rue_status rue_study_keep_findings(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                   struct rue_findings *findings, rue_error *error) RUE_MUST_CHECK;

/* Takes over what the last run that measured any of the same knew of changes of the machine and of disturbed
 * trials. RUE_STORE, RUE_MEMORY. */
rue_status rue_study_take_changes(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  rue_error *error) RUE_MUST_CHECK;

/* Notes a change, also in the store, in case the run is killed: trials of which nobody knows whether they
 * were made before or after it answer nothing more. RUE_STORE, RUE_MEMORY. */
rue_status rue_study_note_change(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 const struct rue_notice *notice, rue_error *error) RUE_MUST_CHECK;

#endif
