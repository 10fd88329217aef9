#include "recheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ask_queue.h"
#include "job_time.h"
#include "random.h"
#include "sort.h"
#include "standing.h"
#include "trial_costs.h"
#include "trial_length.h"

enum { TRIALS_MAX = 24, TRIALS_WANTED = 6, DRAWS = 256 };

static const struct rue_trial_length trial_length = {0.05, 1, 2};
static const double whole_share = 0.7;   /* above it, the whole job */
static const double beaten_share = 0.9;  /* of what is believed, in which another one is better */
static const double unsure_ratio = 0.02; /* what may be lost where the times are not what they were */
static const double other_ratio = 2;     /* of times: this is another machine, whatever else is found */
static const double cost_margin = 1.2;   /* of what trials may cost more than expected */

struct rue_recheck {
    const struct rue_strategy_setup *setup;
    struct rue_forecast *forecast;
    struct rue_standing *standing;
    struct rue_ask_queue queue;
    struct rue_trial_costs costs;
    bool by_job;
    int neighbours; /* that were looked for */
    size_t joints, failed, ratio_count;
    bool *tried;               /* [configs] */
    double ratios[TRIALS_MAX]; /* [ratio_count] measured over expected, where something was */
    uint64_t seed;
    bool ended, broken; /* nothing more is asked; as the checked configuration does not run */
    bool begun, whole;  /* trials were asked for; they run whole jobs, on every model at first */
};

void rue_recheck_close(struct rue_recheck *recheck)
{
    if (!recheck) return;
    rue_standing_close(recheck->standing);
    rue_forecast_close(recheck->forecast);
    rue_ask_queue_close(&recheck->queue);
    free(recheck->tried);
    free(recheck);
}

rue_status rue_recheck_open(const struct rue_strategy_setup *setup, bool by_job, struct rue_recheck **out,
                            rue_error *error)
{
    if (!setup->prior || setup->prior->config >= setup->config_count || setup->scenario_count == 0)
        return rue_fail(error, RUE_USAGE, "no configuration to check");
    struct rue_recheck *recheck = calloc(1, sizeof *recheck);
    if (!recheck) return rue_fail_memory(error, "a check", sizeof *recheck);
    recheck->setup = setup;
    recheck->by_job = by_job;
    recheck->seed = rue_mix64(setup->seed);
    recheck->tried = calloc(setup->config_count, sizeof *recheck->tried);
    rue_status status = recheck->tried ? RUE_OK : rue_fail_memory(error, "a check", setup->config_count);
    if (status == RUE_OK) status = rue_forecast_open(setup, &recheck->forecast, error);
    if (status == RUE_OK) status = rue_standing_open(setup, recheck->forecast, &recheck->standing, error);
    if (status == RUE_OK) status = rue_forecast_update(recheck->forecast, error);
    if (status == RUE_OK) status = rue_standing_update(recheck->standing, error);
    if (status != RUE_OK) return rue_recheck_close(recheck), status;
    *out = recheck;
    return RUE_OK;
}

/* The configuration that is checked; SIZE_MAX where it is out. */
static size_t checked_config(const struct rue_recheck *recheck)
{
    size_t config = recheck->setup->prior->config;
    return rue_forecast_is_out(recheck->forecast, config) ? SIZE_MAX : config;
}

/* ---- trials ---- */

/* The whole job, or as much of it as leaves time for some trials. */
static uint64_t job_trial_images(const struct rue_recheck *recheck, size_t config)
{
    const struct rue_strategy_setup *setup = recheck->setup;
    uint64_t batch = (uint64_t)setup->configs[config].value[RUE_BATCH_SIZE], job = setup->job_images;
    uint64_t least = rue_job_floor_images(&setup->configs[config], job);
    double most_s = 0, each_s = setup->budget_s / TRIALS_WANTED;
    for (size_t m = 0; m < setup->scenario_count; m++)
        most_s = fmax(most_s, rue_prediction_job_s(rue_forecast_prediction(recheck->forecast), m, config));
    uint64_t images = (uint64_t)((double)job * fmin(1, each_s / most_s)) / batch * batch;
    if (images < least) images = least;
    return (double)images > whole_share * (double)job ? job : images;
}

static uint64_t trial_images(const struct rue_recheck *recheck, size_t config)
{
    if (recheck->whole) return recheck->setup->job_images;
    if (recheck->by_job) return job_trial_images(recheck, config);
    return rue_trial_length_images(&trial_length, recheck->setup, config);
}

static double trial_s(const struct rue_recheck *recheck, size_t model, size_t config)
{
    return rue_prediction_trial_s(rue_forecast_prediction(recheck->forecast), model, config,
                                  trial_images(recheck, config));
}

/* The configuration that differs in the workers alone, with the next fewer or the next more; SIZE_MAX: none.
 */
static size_t neighbour_of(const struct rue_recheck *recheck, size_t config, bool more)
{
    size_t found = SIZE_MAX;
    const struct rue_config *configs = recheck->setup->configs;
    int own = configs[config].value[RUE_NUM_WORKERS];
    for (size_t c = 0; c < recheck->setup->config_count; c++) {
        struct rue_config alike = configs[c];
        int workers = alike.value[RUE_NUM_WORKERS];
        alike.value[RUE_NUM_WORKERS] = own;
        if (rue_forecast_is_out(recheck->forecast, c) || !rue_config_equal(&alike, &configs[config]) ||
            (more ? workers <= own : workers >= own))
            continue;
        int nearest = found == SIZE_MAX ? 0 : configs[found].value[RUE_NUM_WORKERS];
        if (found == SIZE_MAX || (more ? workers < nearest : workers > nearest)) found = c;
    }
    return found;
}

/* What the checked configuration is compared with next: fewer workers and more, where the times are not what
 * they were; else what leads, or, where it leads itself, who would in one draw; itself where there is no
 * other.
 */
static size_t choose_rival(struct rue_recheck *recheck, size_t checked)
{
    size_t leader = rue_standing_leader(recheck->standing);
    bool trusted = rue_prediction_trusts_prior(rue_forecast_prediction(recheck->forecast));
    while (!trusted && recheck->neighbours < 2) {
        size_t found = neighbour_of(recheck, recheck->setup->prior->config, recheck->neighbours++);
        if (found != SIZE_MAX && found != checked) return found;
    }
    if (checked == SIZE_MAX || leader != checked) return leader;
    return rue_standing_challenger(recheck->standing, rue_random_next(&recheck->seed));
}

static double trial_cost_s(const struct rue_recheck *recheck, size_t model, size_t config)
{
    return trial_s(recheck, model, config) +
           rue_trial_costs_overhead_s(&recheck->costs, RUE_JOINT, &recheck->setup->configs[config]);
}

/* Two trials, or one where there is no rival, on one model. */
struct pair {
    size_t model, configs[2], count;
    double cost_s, rate;
};

static rue_status best_pair(struct rue_recheck *recheck, size_t checked, size_t rival, struct pair *best,
                            rue_error *error)
{
    size_t own = recheck->setup->prior->config, count = checked == SIZE_MAX || rival == checked ? 1 : 2;
    rue_status status = RUE_OK;
    *best = (struct pair){.rate = -INFINITY};
    if (count == 2)
        status = rue_forecast_compare(recheck->forecast, checked, rival,
                                      rue_standing_weights(recheck->standing, rival), error);
    for (size_t m = 0; status == RUE_OK && m < recheck->setup->scenario_count; m++) {
        struct pair pair = {.model = m, .configs = {own, rival}, .count = count};
        double gain = count == 2 ? 0 : 1;
        pair.cost_s = rue_trial_costs_switch_s(&recheck->costs, m);
        for (size_t i = 0; i < count; i++) {
            size_t config = pair.configs[i];
            pair.cost_s += trial_cost_s(recheck, m, config);
            if (count == 2)
                gain += rue_forecast_gain(recheck->forecast, m, config, trial_images(recheck, config));
        }
        pair.rate = gain / pair.cost_s;
        if (pair.rate > best->rate) *best = pair;
    }
    return status;
}

static rue_status push_pair(struct rue_recheck *recheck, const struct pair *pair, rue_error *error)
{
    bool turned = recheck->joints > 0 && rue_random_below(&recheck->seed, 2);
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < pair->count; i++) {
        size_t config = pair->configs[turned ? pair->count - 1 - i : i];
        struct rue_ask ask = {.measure = RUE_JOINT,
                              .scenario = pair->model,
                              .config = config,
                              .images = trial_images(recheck, config),
                              .repeat = (int)recheck->joints,
                              .expected_s = trial_s(recheck, pair->model, config)};
        status = rue_ask_queue_push(&recheck->queue, &ask, error);
    }
    return status;
}

static rue_status push_next(struct rue_recheck *recheck, rue_error *error)
{
    size_t checked = checked_config(recheck);
    struct pair pair;
    rue_status status = best_pair(recheck, checked, choose_rival(recheck, checked), &pair, error);
    if (status != RUE_OK) return status;
    double left_s = recheck->setup->budget_s - recheck->costs.spent_s;
    if (recheck->joints > 0 && cost_margin * pair.cost_s > left_s) pair.count = 0;
    if (recheck->joints + recheck->failed + pair.count > TRIALS_MAX) pair.count = 0;
    recheck->ended = pair.count == 0;
    return push_pair(recheck, &pair, error);
}

/* The checked configuration, and the best of the others, as is believed. */
static struct pair best_two(const struct rue_recheck *recheck)
{
    size_t rival = SIZE_MAX;
    struct pair pair = {.configs = {recheck->setup->prior->config}, .count = 1};
    for (size_t c = 0; c < recheck->setup->config_count; c++) {
        if (c == pair.configs[0] || rue_forecast_is_out(recheck->forecast, c)) continue;
        if (rival == SIZE_MAX ||
            rue_standing_regret(recheck->standing, c) < rue_standing_regret(recheck->standing, rival))
            rival = c;
    }
    if (rival != SIZE_MAX) pair.configs[pair.count++] = rival;
    return pair;
}

/* Whole jobs of both on every model, where the budget holds them. */
static rue_status push_whole_jobs(struct rue_recheck *recheck, rue_error *error)
{
    struct pair pair = best_two(recheck);
    size_t models = recheck->setup->scenario_count;
    double cost_s = 0;
    recheck->begun = recheck->whole = true;
    for (size_t m = 0; m < models; m++) {
        cost_s += rue_trial_costs_switch_s(&recheck->costs, m);
        for (size_t i = 0; i < pair.count; i++) cost_s += trial_cost_s(recheck, m, pair.configs[i]);
    }
    recheck->whole = cost_margin * cost_s <= recheck->setup->budget_s && models * pair.count <= TRIALS_MAX;
    rue_status status = RUE_OK;
    for (; status == RUE_OK && recheck->whole && pair.model < models; pair.model++)
        status = push_pair(recheck, &pair, error);
    return status;
}

bool rue_recheck_ask(struct rue_recheck *recheck, struct rue_ask *out)
{
    if (recheck->ended) return false;
    if (!recheck->begun && push_whole_jobs(recheck, NULL) != RUE_OK) return false;
    if (rue_ask_queue_pop(&recheck->queue, out)) return true;
    if (push_next(recheck, NULL) != RUE_OK) return false;
    return rue_ask_queue_pop(&recheck->queue, out);
}

double rue_recheck_expected_s(const struct rue_recheck *recheck, const struct rue_ask *ask, uint64_t images)
{
    const struct rue_prior *prior = recheck->setup->prior;
    double offset =
        prior->offsets ? prior->offsets[ask->scenario * recheck->setup->config_count + ask->config] : 0;
    return exp(offset) * rue_knowledge_job_s(prior->knowledge, ask->scenario,
                                             &recheck->setup->configs[ask->config], images);
}

static rue_status update(struct rue_recheck *recheck, rue_error *error)
{
    rue_status status = rue_forecast_update(recheck->forecast, error);
    return status == RUE_OK ? rue_standing_update(recheck->standing, error) : status;
}

rue_status rue_recheck_tell(struct rue_recheck *recheck, const struct rue_ask *ask,
                            const struct rue_trial_result *result, rue_error *error)
{
    rue_trial_costs_note(&recheck->costs, ask, &recheck->setup->configs[ask->config], result);
    recheck->tried[ask->config] = true;
    if (result->outcome != RUE_TRIAL_OK) {
        recheck->failed++;
        rue_forecast_exclude(recheck->forecast, ask->config);
        if (ask->config == recheck->setup->prior->config) recheck->ended = recheck->broken = true;
    } else {
        double expected_s = rue_recheck_expected_s(recheck, ask, (uint64_t)result->images);
        double ratio = (double)result->end_to_end_ns / 1e9 / expected_s;
        recheck->joints++;
        if (isfinite(ratio) && recheck->ratio_count < TRIALS_MAX)
            recheck->ratios[recheck->ratio_count++] = ratio;
        rue_status status =
            rue_forecast_add(recheck->forecast, ask, result, rue_trial_costs_clock_s(&recheck->costs), error);
        if (status != RUE_OK) return status;
    }
    if (recheck->ended || recheck->queue.next < recheck->queue.count) return RUE_OK;
    return update(recheck, error);
}

/* ---- verdict ---- */

static double median_ratio(struct rue_recheck *recheck)
{
    size_t n = recheck->ratio_count;
    if (n == 0) return NAN;
    rue_sort_doubles(recheck->ratios, n);
    return (recheck->ratios[(n - 1) / 2] + recheck->ratios[n / 2]) / 2;
}

/* In how many of the possible truths the checked one is worse than `other` by more than the margin, and in
 * how many worse than whatever is the best then. */
struct count {
    const struct rue_recheck *recheck;
    size_t checked, other;
    double mean, spread; /* of their difference; of draws about it */
    double margin, worse, worst;
};

static void count_draw(void *context, const struct rue_forecast_draw *draw)
{
    struct count *count = context;
    const struct rue_strategy_setup *setup = count->recheck->setup;
    double least = INFINITY, own = rue_joined_regrets_value(&draw->joined[count->checked], setup->objective);
    for (size_t c = 0; c < setup->config_count; c++)
        if (!rue_forecast_is_out(count->recheck->forecast, c))
            least = fmin(least, rue_joined_regrets_value(&draw->joined[c], setup->objective));
    double other = rue_joined_regrets_value(&draw->joined[count->other], setup->objective);
    double worse = count->mean + count->spread * (own - other - count->mean);
    count->worse += worse > count->margin;
    count->worst += own - least > fmax(count->margin, unsure_ratio);
}

static size_t best_tried(const struct rue_recheck *recheck, size_t checked)
{
    size_t best = checked;
    for (size_t c = 0; c < recheck->setup->config_count; c++)
        if (recheck->tried[c] &&
            rue_standing_regret(recheck->standing, c) < rue_standing_regret(recheck->standing, best))
            best = c;
    return best;
}

rue_status rue_recheck_conclude(struct rue_recheck *recheck, double margin_ratio,
                                struct rue_recheck_findings *out, rue_error *error)
{
    size_t own = recheck->setup->prior->config;
    *out = (struct rue_recheck_findings){.verdict = RUE_RECHECK_UNTRIED,
                                         .time_ratio = median_ratio(recheck),
                                         .best = own,
                                         .excess_ratio = NAN,
                                         .tried_ratio = NAN};
    for (size_t c = 0; c < recheck->setup->config_count; c++) out->tried += recheck->tried[c];
    out->whole_jobs = recheck->whole && rue_ask_queue_is_empty(&recheck->queue);
    if (recheck->broken) out->verdict = RUE_RECHECK_FAILED;
    if (recheck->joints == 0 || out->verdict == RUE_RECHECK_FAILED) return RUE_OK;
    rue_status status = update(recheck, error);
    if (status != RUE_OK) return status;
    size_t checked = checked_config(recheck), leader = rue_standing_leader(recheck->standing);
    out->best = leader;
    out->verdict = RUE_RECHECK_BEATEN;
    if (checked == SIZE_MAX) return RUE_OK;
    double own_regret = rue_standing_regret(recheck->standing, checked);
    out->excess_ratio = own_regret - rue_standing_regret(recheck->standing, leader);
    out->tried_ratio = own_regret - rue_standing_regret(recheck->standing, best_tried(recheck, checked));
    struct count count = {.recheck = recheck,
                          .checked = checked,
                          .other = leader,
                          .mean = out->excess_ratio,
                          .spread = rue_standing_spread(recheck->standing),
                          .margin = margin_ratio};
    status =
        rue_forecast_draw(recheck->forecast, DRAWS, true, recheck->setup->seed, count_draw, &count, error);
    if (status != RUE_OK) return status;
    bool trusted = rue_prediction_trusts_prior(rue_forecast_prediction(recheck->forecast));
    bool alike = out->time_ratio <= other_ratio && out->time_ratio >= 1 / other_ratio;
    out->verdict = count.worse > beaten_share * DRAWS                  ? RUE_RECHECK_BEATEN
                   : !alike || (!trusted && count.worst > 0.5 * DRAWS) ? RUE_RECHECK_UNSURE
                                                                       : RUE_RECHECK_HOLDS;
    return RUE_OK;
}
