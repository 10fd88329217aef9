/* Whether trials bear out what an earlier study knew. */
#ifndef RUE_TRUST_H
#define RUE_TRUST_H

#include "strategy.h"
#include "trial_log.h"

/* `setup` has a prior. `measured` [consumers]: the compute that was measured. */
bool rue_trust_prior(const struct rue_strategy_setup *setup, const struct rue_compute_curve *measured,
                     const struct rue_trial_log *loads, const struct rue_trial_log *joints);

#endif
