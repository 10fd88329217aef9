/* Runs a study on several nodes at the same time (`--farm`). Each node is a lane: it has at most one trial,
 * a question of a strategy or a reference trial. On virtual clocks, what happens first is dealt with first,
 * so that a simulation is deterministic. */
#ifndef RUE_STUDY_FARM_H
#define RUE_STUDY_FARM_H

#include "study_tracks.h"

/* Runs all questions on the nodes of a farm, each with a trial of its own at any time. Reference trials
 * compare the nodes; one that differs, or whose connection ends, makes no more trials. RUE_RUNNER: no node is
 * left. */
rue_status rue_study_run_farm(struct rue_study *study, struct rue_tracks *tracks,
                              rue_error *error) RUE_MUST_CHECK;

#endif
