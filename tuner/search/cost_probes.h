/* Short trials that show what trials cost. */
#ifndef RUE_COST_PROBES_H
#define RUE_COST_PROBES_H

#include "study_ledger.h"

/* Probes each variant's loader and the models, once. Fails as rue_study_measure and rue_study_fail_probe. */
rue_status rue_study_probe(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                           rue_error *error) RUE_MUST_CHECK;

/* Makes one short trial of each variant's loader. After it, rue_study_whole_s is a lower bound. */
rue_status rue_study_probe_least(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 rue_error *error) RUE_MUST_CHECK;

#endif
