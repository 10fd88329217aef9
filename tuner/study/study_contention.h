/* How much of a study other programs and changes of the machine's speed affected. */
#ifndef RUE_STUDY_CONTENTION_H
#define RUE_STUDY_CONTENTION_H

#include "study_ledger.h"

/* `findings` have their rankings; `cpus`: that trials may use. */
struct rue_contention_findings rue_study_find_contention(const struct rue_study_setup *setup,
                                                         const struct rue_study_ledger *ledger,
                                                         const struct rue_findings *findings, int cpus);

#endif
