/* Looks at the machine while none of the study's trials runs. */
#ifndef RUE_STUDY_LOOK_H
#define RUE_STUDY_LOOK_H

#include "study.h"

/* Notes what keeps this machine busy before the first trial, and after the last one; says so on the screen.
 * Sleeps for a third of a second, or a twentieth of the budget where that is less. Nothing is noted of a
 * runner with a clock of its own, of a dry run, and of a study without a budget, which recommends nothing.
 * RUE_MEMORY. */
rue_status rue_study_look_before(struct rue_study *study, rue_error *error) RUE_MUST_CHECK;
rue_status rue_study_look_after(struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

#endif
