/* Whether trials bear out what an earlier study knew. */
#ifndef RUE_TRUST_H
#define RUE_TRUST_H

#include "question.h"
#include "trial_log.h"

/* `setup` has a prior; `logs` [RUE_MEASURE_COUNT] of trials. */
bool rue_trust_prior(const struct rue_strategy_setup *setup, const struct rue_consumers *consumers,
                     const struct rue_trial_log *logs);

#endif
