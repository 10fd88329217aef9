/* The first trials of a duel. Load-only ones measure the loader, compute-only ones each model. Where a
 * runner has joint ones alone, or trials are too few for others, it surveys: every model runs once with a
 * middling configuration, which tells how much they take; then the one that takes least, which is nearest to
 * a consumer that takes no time, measures the loader with a few others. */
#include <math.h>

#include "duel.h"
#include "probes.h"

enum { WITNESSES = 3, SURVEYED = 6 };

static const double again_share = 0.06;   /* of the budget, for longer load-only probes */
static const double longer_share = 0.008; /* of it: what costs no more is asked again, twice as long */
static const double survey_share = 0.5;   /* of what is left of the budget */

static const struct rue_prediction *prediction_of(const struct rue_duel *duel)
{
    return duel->forecast->prediction;
}

static void push_probe(struct rue_duel *duel, const struct rue_ask *ask)
{
    if (duel->probes_left == 0) return;
    duel->probes_left -= duel->probes_left < SIZE_MAX;
    rue_duel_push(duel, ask);
}

/* ---- loading ---- */

/* Load-only probes; where the prior is of this very loader, three of them are enough to see that. */
static size_t list_load(const struct rue_duel *duel, struct rue_ask out[RUE_PROBES_LOAD_MAX])
{
    size_t count = rue_probes_load(&duel->setup, out), room = rue_probes_room(&duel->setup).load;
    if (count > room) count = room;
    return duel->trusting && duel->setup.known.prior->same && count > WITNESSES ? WITNESSES : count;
}

void rue_duel_push_load(struct rue_duel *duel)
{
    struct rue_ask asks[RUE_PROBES_LOAD_MAX];
    size_t count = duel->surveys ? 0 : list_load(duel, asks);
    for (size_t i = 0; i < count; i++) push_probe(duel, &asks[i]);
}

/* Those that are cheap, again and twice as long, where trials are not counted. */
static void push_longer(struct rue_duel *duel)
{
    const struct rue_strategy_setup *setup = &duel->setup;
    struct rue_ask asks[RUE_PROBES_LOAD_MAX];
    double left_s = again_share * setup->budget.seconds, most_s = longer_share * setup->budget.seconds;
    size_t count = setup->budget.trials > 0 ? 0 : list_load(duel, asks);
    for (size_t i = 0; i < count; i++) {
        uint64_t images = asks[i].images;
        if (images >= setup->job.images) continue; /* no longer one tells more */
        asks[i].images = 2 * images < setup->job.images ? 2 * images : setup->job.images;
        asks[i].expected_s = rue_prediction_trial_s(prediction_of(duel), RUE_PREDICTION_NO_MODEL,
                                                    asks[i].config, asks[i].images);
        if (asks[i].expected_s > fmin(left_s, most_s)) continue;
        left_s -= asks[i].expected_s;
        push_probe(duel, &asks[i]);
    }
}

/* ---- a survey ---- */

static bool has_joint(const struct rue_duel *duel, size_t model)
{
    for (size_t c = 0; c < duel->setup.grid.config_count; c++)
        if (rue_standing_is_verified_on(duel->standing, model, c)) return true;
    return false;
}

void rue_duel_push_survey(struct rue_duel *duel)
{
    struct rue_ask ask;
    if (!rue_probes_middle(&duel->setup, duel->forecast->excluded, &ask)) return;
    for (ask.scenario = 0; ask.scenario < duel->setup.grid.scenario_count; ask.scenario++)
        if (!has_joint(duel, ask.scenario)) rue_duel_push(duel, &ask);
}

/* The model that takes least of a joint trial. */
static size_t lightest_model(const struct rue_duel *duel, const struct rue_ask *ask)
{
    size_t best = 0;
    double least_s = INFINITY;
    for (size_t m = 0; m < duel->setup.grid.scenario_count; m++) {
        double trial_s = rue_forecast_trial_s(duel->forecast, m, ask->config, ask->images);
        if (trial_s >= least_s) continue;
        least_s = trial_s;
        best = m;
    }
    return best;
}

/* As many as take half of what is left. */
static void push_rest_of_survey(struct rue_duel *duel)
{
    const bool *without = duel->forecast->excluded;
    double left_s = survey_share * rue_duel_left_s(duel);
    struct rue_ask first, asks[RUE_PROBES_LOAD_MAX];
    if (!rue_probes_middle(&duel->setup, without, &first)) return;
    size_t light = lightest_model(duel, &first), count = rue_probes_load(&duel->setup, asks);
    for (size_t i = 0; i < count && i < SURVEYED; i++) {
        asks[i].measure = RUE_JOINT;
        asks[i].scenario = light;
        double cost_s = rue_duel_cost_s(duel, light, asks[i].config, asks[i].images);
        bool known = rue_ask_queue_count_alike(&duel->history, &asks[i]) > 0;
        if (known || without[asks[i].config] || !(cost_s <= left_s)) continue;
        left_s -= cost_s;
        push_probe(duel, &asks[i]);
    }
}

/* ---- computing ---- */

static void push_size(struct rue_duel *duel, size_t model, size_t config)
{
    struct rue_ask probe = rue_probes_compute(model, config);
    push_probe(duel, &probe);
}

static bool is_known(const struct rue_duel *duel, size_t model, size_t config)
{
    return rue_prediction_knows_compute(prediction_of(duel), model, config);
}

/* What is believed, the first model and the last one bear out. */
static void push_compute(struct rue_duel *duel)
{
    size_t sizes[RUE_PROBES_SIZES_MAX], count = rue_probes_compute_sizes(&duel->setup, sizes);
    size_t models = duel->setup.grid.scenario_count;
    if (!duel->setup.runner.measures[RUE_COMPUTE]) return;
    const size_t witnesses[] = {0, models - 1};
    for (size_t i = 0; duel->trusting && i < 2 && i < models; i++)
        if (is_known(duel, witnesses[i], sizes[0])) push_size(duel, witnesses[i], sizes[0]);
    for (size_t m = 0; m < models; m++)
        for (size_t i = 0; i < count; i++)
            if ((i == 0 || duel->probes_left >= models - m) && /* one of every model comes first */
                !is_known(duel, m, sizes[i]))
                push_size(duel, m, sizes[i]);
}

void rue_duel_push_more(struct rue_duel *duel)
{
    if (duel->surveys)
        push_rest_of_survey(duel);
    else
        push_longer(duel);
    push_compute(duel);
}

void rue_duel_push_distrusted(struct rue_duel *duel)
{
    struct rue_ask asks[RUE_PROBES_LOAD_MAX];
    if (!duel->trusting || rue_prediction_trusts_prior(prediction_of(duel))) return;
    size_t asked = list_load(duel, asks);
    duel->trusting = false;
    for (size_t i = asked, count = duel->surveys ? 0 : list_load(duel, asks); i < count; i++)
        push_probe(duel, &asks[i]);
    push_compute(duel);
}
