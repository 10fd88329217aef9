/* What a perfect loader would gain with one configuration: trials of the loader and of the steps alone, in
 * turns, so that a machine that changes its speed changes both. */
#ifndef RUE_HEADROOM_H
#define RUE_HEADROOM_H

#include "headroom_page.h"
#include "study_parts.h"

/* The configuration that is measured: of each knob the only value, or the usual one. RUE_USAGE, with the
 * option, if the user gave several values. */
rue_status rue_headroom_config(const struct rue_study_setup *setup, struct rue_config *out,
                               rue_error *error) RUE_MUST_CHECK;

/* Measures every model of an open study (rue_study_open) for an equal share of the budget that is left, or
 * until a loss is known to a point. `out` has space for as many rows as the setup has models. RUE_USAGE: a
 * model or the runner cannot compute steps alone. RUE_INFEASIBLE: a trial failed, with its reason;
 * else as rue_study_measure. */
rue_status rue_headroom_measure(struct rue_study *study, const struct rue_config *config,
                                struct rue_headroom *out, rue_error *error) RUE_MUST_CHECK;

#endif
