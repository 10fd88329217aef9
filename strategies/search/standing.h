/* How configurations stand by what is believed: who leads, who may be better, and what can be claimed of what
 * would be recommended. There is one measure of good: the regrets of a truth that may be, joined over models,
 * over all configurations that are not out. */
#ifndef RUE_STANDING_H
#define RUE_STANDING_H

#include "forecast.h"
#include "strategy.h"

struct rue_standing;

/* `setup` and `forecast` are borrowed for its life. RUE_MEMORY. */
rue_status rue_standing_open(const struct rue_strategy_setup *setup, struct rue_forecast *forecast,
                             struct rue_standing **out, rue_error *error) RUE_MUST_CHECK;
void rue_standing_close(struct rue_standing *standing);

/* Ranks by the present belief. Call it after a trial is observed and before any function below. */
void rue_standing_update(struct rue_standing *standing);

/* The regret that a configuration is believed to have; INFINITY where it is out. */
double rue_standing_regret(const struct rue_standing *standing, size_t config);

/* The configuration at that place, 0: of the least regret, which leads; SIZE_MAX: no more are there that are
 * not out. */
size_t rue_standing_at(const struct rue_standing *standing, size_t place);

/* The best configuration but the leader in one random draw; the leader itself where it is alone. */
size_t rue_standing_challenger(struct rue_standing *standing);

/* So many draws tell whether to go on, and so many what is claimed in the end; of large grids there are
 * fewer. */
enum { RUE_STANDING_LOOK = 256, RUE_STANDING_CLAIM = 2048 };

/* What can be claimed of `config`; where that is SIZE_MAX of what would be recommended: the least regret, as
 * it is believed, of those that were measured on every model; of all of them where none was. By draws of
 * their own, for each `trials`, how many there were, others. */
void rue_standing_claim(struct rue_standing *standing, size_t trials, size_t draws, size_t config,
                        struct rue_claim *out);

/* The standard deviation of the logarithm of the job's time in a cell, as the last claim had it. NaN before,
 * and of a cell that was not measured where predictions are far off. */
double rue_standing_sd(const struct rue_standing *standing, size_t model, size_t config);

/* By how much draws are spread about their means, as beliefs are bolder than they should be: by what the
 * audit has, and as few configurations leave that unsure. */
double rue_standing_spread(const struct rue_standing *standing);

/* Whether one that is not out was measured on every model. */
bool rue_standing_is_any_verified(const struct rue_standing *standing);

/* Whether it was measured jointly on the model. */
bool rue_standing_is_verified_on(const struct rue_standing *standing, size_t model, size_t config);

#endif
