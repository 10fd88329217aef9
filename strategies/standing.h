/* How the candidates of a forecast stand: who leads, and by how much another may be better, told from all
 * draws of what is believed. */
#ifndef RUE_STANDING_H
#define RUE_STANDING_H

#include "forecast.h"

struct rue_standing;

/* `setup` and `forecast` are borrowed for its life. RUE_MEMORY. */
rue_status rue_standing_open(const struct rue_strategy_setup *setup, struct rue_forecast *forecast,
                             struct rue_standing **out, rue_error *error) RUE_MUST_CHECK;
void rue_standing_close(struct rue_standing *standing);

/* Looks at what is believed now, after `joints` joint trials. Positions below are those of
 * rue_forecast_candidates, valid until the forecast's next update. */
void rue_standing_update(struct rue_standing *standing, size_t joints);

/* The position with the least expected mean regret. */
size_t rue_standing_leader(const struct rue_standing *standing);

/* Its expected mean regret. */
double rue_standing_mean(const struct rue_standing *standing, size_t position);

/* By how much, with the confidence of the setup, another one may be better. */
double rue_standing_bound(struct rue_standing *standing, size_t position);

/* The best of the others in draw `index`; the leader itself where it is alone. */
size_t rue_standing_challenger(const struct rue_standing *standing, size_t index);

/* What would be recommended: the least mean regret, as it is believed, of those that were measured on every
 * model; of all of them where none was. */
struct rue_claim rue_standing_claim(struct rue_standing *standing);

/* Whether it was measured jointly on the model. */
bool rue_standing_is_verified_on(const struct rue_standing *standing, size_t model, size_t config);

#endif
