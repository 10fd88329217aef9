#include "searcher.h"

#include <math.h>
#include <stdlib.h>

#include "probes.h"

static const double verify_margin = 1.3; /* of what the last trials may cost more than expected */
static const double load_share =
    0.45; /* of the budget, for load-only probes: the rest has to verify an answer */
static const double surprise = 0.15; /* of the logarithm of a time: the prediction is to be made anew */

/* ---- life ---- */

rue_status rue_searcher_open(struct rue_searcher *search, const struct rue_strategy_setup *setup,
                             const struct rue_searcher_plan *plan, rue_error *error)
{
    if (setup->scenario_count == 0 || setup->config_count == 0)
        return rue_fail(error, RUE_USAGE, "nothing to try: %zu scenarios, %zu configurations",
                        setup->scenario_count, setup->config_count);
    search->setup = *setup;
    search->plan = plan;
    rue_status status = rue_forecast_open(&search->setup, &search->forecast, error);
    if (status == RUE_OK) status = rue_probing_open(&search->setup, &search->probing, error);
    if (status == RUE_OK)
        status = rue_standing_open(&search->setup, search->forecast, &search->standing, error);
    if (status != RUE_OK) return status;
    if (setup->measures[RUE_LOAD] && rue_probes_room(setup).all > 0)
        return rue_probing_push_load(search->probing, &search->queue, error);
    return rue_survey_open(&search->setup, &search->survey, error);
}

void rue_searcher_close(struct rue_searcher *search)
{
    rue_standing_close(search->standing);
    rue_survey_close(search->survey);
    rue_probing_close(search->probing);
    rue_forecast_close(search->forecast);
    rue_ask_queue_close(&search->queue);
    rue_ask_queue_close(&search->joint_history);
}

void rue_searcher_update(struct rue_searcher *search)
{
    search->stale = false;
    search->learned = search->joints;
    search->status = rue_forecast_update(search->forecast, &search->error);
    if (search->status == RUE_OK) search->status = rue_standing_update(search->standing, &search->error);
}

void rue_searcher_claim_anew(struct rue_searcher *search, size_t draws)
{
    search->status =
        rue_standing_claim(search->standing, search->joints, draws, &search->claim, &search->error);
    search->claimed = search->joints + 1;
    search->final = draws == RUE_STANDING_CLAIM;
}

/* ---- budget ---- */

double rue_searcher_left_s(const struct rue_searcher *search)
{
    return search->setup.budget_s - search->costs.spent_s;
}

bool rue_searcher_lacks_trials(const struct rue_searcher *search, size_t wanted)
{
    size_t budget = search->setup.budget_trials;
    return budget > 0 && search->costs.made + wanted > budget;
}

/* ---- trials ---- */

uint64_t rue_searcher_images(const struct rue_searcher *search, size_t config,
                             const struct rue_trial_length *length)
{
    return rue_trial_length_images(length, &search->setup, config);
}

double rue_searcher_trial_s(const struct rue_searcher *search, size_t model, size_t config, uint64_t images)
{
    if (model != RUE_PREDICTION_NO_MODEL)
        return rue_forecast_trial_s(search->forecast, model, config, images);
    return rue_prediction_trial_s(rue_forecast_prediction(search->forecast), model, config, images);
}

double rue_searcher_overhead_s(const struct rue_searcher *search, enum rue_measure measure, size_t config)
{
    return rue_trial_costs_overhead_s(&search->costs, measure, &search->setup.configs[config]);
}

void rue_searcher_push_joint(struct rue_searcher *search, size_t model, size_t config, uint64_t images)
{
    struct rue_ask ask = {.measure = RUE_JOINT,
                          .scenario = model,
                          .config = config,
                          .images = images,
                          .expected_s = rue_searcher_trial_s(search, model, config, images)};
    if (search->status == RUE_OK) search->status = rue_ask_queue_push(&search->queue, &ask, &search->error);
}

/* ---- verification ---- */

bool rue_searcher_is_unseen(const struct rue_searcher *search, size_t model, size_t config)
{
    return !rue_standing_is_verified_on(search->standing, model, config);
}

size_t rue_searcher_unseen_count(const struct rue_searcher *search, size_t config)
{
    size_t count = 0;
    for (size_t m = 0; m < search->setup.scenario_count; m++)
        count += rue_searcher_is_unseen(search, m, config);
    return count;
}

double rue_searcher_verify_s(const struct rue_searcher *search, size_t config, const bool *visited)
{
    uint64_t images = rue_searcher_images(search, config, search->plan->verification);
    double sum = 0;
    for (size_t m = 0; m < search->setup.scenario_count; m++) {
        if (!rue_searcher_is_unseen(search, m, config)) continue;
        sum += rue_searcher_trial_s(search, m, config, images) +
               rue_searcher_overhead_s(search, RUE_JOINT, config);
        if (!visited || !visited[m]) sum += search->costs.switch_s;
    }
    return verify_margin * sum;
}

void rue_searcher_push_verification(struct rue_searcher *search, size_t model, size_t config)
{
    if (!rue_searcher_is_unseen(search, model, config)) return;
    rue_searcher_push_joint(search, model, config,
                            rue_searcher_images(search, config, search->plan->verification));
}

/* ---- phases ---- */

/* Probes of the models' compute follow; what was probed until then is in the prediction. */
static void after_load(struct rue_searcher *search)
{
    struct rue_ask_queue *queue = &search->queue;
    rue_error *error = &search->error;
    if (search->survey) {
        search->status = rue_survey_push_first(search->survey, queue, error);
        if (search->status != RUE_OK || !rue_ask_queue_is_empty(queue)) return;
    }
    rue_searcher_update(search);
    if (search->status != RUE_OK) return;
    const struct rue_prediction *prediction = rue_forecast_prediction(search->forecast);
    if (search->survey)
        search->status = rue_survey_push_second(search->survey, prediction, &search->costs,
                                                rue_searcher_left_s(search), queue, error);
    else
        search->status = rue_probing_push_again(search->probing, prediction, queue, error);
    if (search->status == RUE_OK) search->status = rue_probing_push_compute(search->probing, queue, error);
    search->phase = RUE_SEARCHER_COMPUTE;
}

static void after_compute(struct rue_searcher *search)
{
    bool distrusted = false;
    rue_searcher_update(search);
    if (search->status == RUE_OK)
        search->status =
            rue_probing_push_distrusted(search->probing, rue_forecast_prediction(search->forecast),
                                        &distrusted, &search->queue, &search->error);
    if (distrusted || search->status != RUE_OK) return;
    search->phase = RUE_SEARCHER_DECIDE;
    search->plan->probed(search);
    search->stale = !rue_ask_queue_is_empty(&search->queue);
}

static void decide(struct rue_searcher *search)
{
    search->plan->decide(search);
    if (search->status == RUE_OK && rue_ask_queue_is_empty(&search->queue))
        search->phase = RUE_SEARCHER_ENDED;
}

/* ---- operations ---- */

/* Whether load-only probes have cost so much that no more are made: those that tell most come first. */
static bool is_probed_enough(const struct rue_searcher *search)
{
    return search->costs.made >= RUE_PROBES_LOAD_LEAST &&
           search->costs.spent_s > load_share * search->setup.budget_s;
}

/* Whether a question is still of use: what does not run is not verified on other models. */
static bool is_of_use(const struct rue_searcher *search, const struct rue_ask *ask)
{
    if (search->phase == RUE_SEARCHER_DECIDE)
        return ask->measure != RUE_JOINT || !rue_forecast_is_excluded(search->forecast, ask->config);
    return ask->measure != RUE_LOAD || !is_probed_enough(search);
}

static bool pop(struct rue_searcher *search, struct rue_ask *out)
{
    while (rue_ask_queue_pop(&search->queue, out))
        if (is_of_use(search, out)) return true;
    return false;
}

bool rue_searcher_ask(void *state, struct rue_ask *out)
{
    static void (*const go_on[])(struct rue_searcher *) = {[RUE_SEARCHER_LOAD] = after_load,
                                                           [RUE_SEARCHER_COMPUTE] = after_compute,
                                                           [RUE_SEARCHER_DECIDE] = decide};
    struct rue_searcher *search = state;
    while (search->status == RUE_OK && !pop(search, out)) {
        if (search->phase == RUE_SEARCHER_ENDED) return false;
        go_on[search->phase](search);
    }
    if (search->status != RUE_OK) return false;
    if (out->measure == RUE_JOINT) out->repeat = rue_ask_queue_count_alike(&search->joint_history, out);
    return true;
}

static bool is_probed(const struct rue_searcher *search)
{
    return search->phase == RUE_SEARCHER_DECIDE || search->phase == RUE_SEARCHER_ENDED;
}

static bool is_late(const struct rue_searcher *search, const struct rue_trial_result *result)
{
    double limit_s = search->setup.first_batch_limit_s;
    return limit_s > 0 && result->first_batch_ns != RUE_ABSENT &&
           (double)result->first_batch_ns > limit_s * 1e9;
}

static bool is_surprise(const struct rue_ask *ask, const struct rue_trial_result *result)
{
    double expected_ns = 1e9 * ask->expected_s, took_ns = (double)result->end_to_end_ns;
    return expected_ns > 0 && took_ns > 0 && fabs(log(took_ns / expected_ns)) > surprise;
}

void rue_searcher_tell(void *state, const struct rue_ask *ask, const struct rue_trial_result *result)
{
    struct rue_searcher *search = state;
    bool joint = ask->measure == RUE_JOINT, ok = result->outcome == RUE_TRIAL_OK;
    rue_trial_costs_note(&search->costs, ask, &search->setup.configs[ask->config], result);
    if (search->status == RUE_OK && joint)
        search->status = rue_ask_queue_push(&search->joint_history, ask, &search->error);
    if (joint && !ok) rue_forecast_exclude(search->forecast, ask->config);
    search->stale |= joint && (!ok || is_late(search, result)); /* it is not recommended: another one is */
    if (joint && search->survey) rue_survey_tell(search->survey, ask, ok);
    if (!ok || search->status != RUE_OK) return;
    search->joints += joint;
    bool news = 8 * search->joints >= 9 * search->learned; /* what surprises again and again is none */
    search->stale |= joint && news && is_surprise(ask, result);
    if (joint && search->phase == RUE_SEARCHER_DECIDE && search->plan->note)
        search->plan->note(search, ask, result);
    search->status = rue_forecast_add(search->forecast, ask, result, rue_trial_costs_clock_s(&search->costs),
                                      &search->error);
}

bool rue_searcher_estimate(void *state, size_t scenario, size_t config, struct rue_estimate *out)
{
    const struct rue_searcher *search = state;
    bool stopped = search->status == RUE_INTERRUPTED || search->status == RUE_TERMINATED;
    if (search->status == RUE_OK || stopped ? !is_probed(search) : search->status != RUE_INFEASIBLE)
        return false;
    struct rue_forecast_cell cell = rue_forecast_cell(search->forecast, scenario, config);
    const struct rue_prediction *prediction = rue_forecast_prediction(search->forecast);
    *out = (struct rue_estimate){cell.time_s, rue_standing_sd(search->standing, scenario, config),
                                 cell.joint_trials, cell.full,
                                 rue_prediction_first_batch_s(prediction, scenario, config)};
    return true;
}

/* While the search goes on, what was claimed a few trials ago will do. */
static bool is_claim_recent(const struct rue_searcher *search)
{
    bool goes_on =
        search->phase == RUE_SEARCHER_DECIDE && rue_setup_check_stop(&search->setup, NULL) == RUE_OK;
    return (search->final && search->claimed > search->joints) ||
           (goes_on && search->claimed > 0 && !rue_forecast_is_out(search->forecast, search->claim.config));
}

bool rue_searcher_claim(void *state, struct rue_claim *out)
{
    struct rue_searcher *search = state;
    if (!is_probed(search) || search->status != RUE_OK) return false;
    if (!is_claim_recent(search)) {
        search->status = rue_standing_update(search->standing, &search->error);
        if (search->status == RUE_OK) rue_searcher_claim_anew(search, RUE_STANDING_CLAIM);
    }
    *out = search->claim;
    return search->status == RUE_OK;
}

rue_status rue_searcher_learned(const void *state, struct rue_knowledge **out, rue_error *error)
{
    const struct rue_searcher *search = state;
    return rue_prediction_learned(rue_forecast_prediction(search->forecast), out, error);
}

rue_status rue_searcher_status(void *state, rue_error *error)
{
    const struct rue_searcher *search = state;
    return search->status == RUE_OK ? RUE_OK : rue_fail(error, search->status, "%s", search->error.message);
}

bool rue_searcher_expect(void *state, const struct rue_ask *ask, double *time_s, double *sd)
{
    struct rue_searcher *search = state;
    return ask->measure == RUE_JOINT && is_probed(search) &&
           rue_forecast_expect(search->forecast, ask->scenario, ask->config, ask->images, time_s, sd);
}

void rue_searcher_shift(void *state, size_t trial, struct rue_speed change)
{
    struct rue_searcher *search = state;
    rue_forecast_shift(search->forecast, trial, change);
    search->stale = true;
    if (search->phase == RUE_SEARCHER_ENDED) rue_searcher_update(search);
}

void rue_searcher_spend(void *state, double seconds, size_t trials)
{
    struct rue_searcher *search = state;
    search->costs.spent_s += seconds;
    search->costs.made += trials;
}

double rue_searcher_job_s(void *state, size_t scenario, size_t config, uint64_t images)
{
    const struct rue_searcher *search = state;
    return rue_forecast_job_s(search->forecast, scenario, config, images);
}
