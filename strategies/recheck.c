#include "recheck.h"

#include <math.h>
#include <stdlib.h>

#include "duel.h"
#include "job_time.h"
#include "random.h"
#include "sort.h"

enum { TRIALS_MAX = 24, TRIALS_WANTED = 6, DRAWS = 256 };

static const struct rue_trial_length trial_length = {0.05, 1, 2};
static const double whole_share = 0.7;   /* above it, the whole job */
static const double beaten_share = 0.9;  /* of what is believed, in which another one is better */
static const double unsure_ratio = 0.02; /* what may be lost where the times are not what they were */
static const double other_ratio = 2;     /* of times: this is another machine, whatever else is found */
static const double cost_margin = 1.2;   /* of what trials may cost more than expected */

struct rue_recheck {
    struct rue_duel duel;
    bool by_job;
    size_t own; /* the configuration that is checked */
    size_t ratio_count;
    double ratios[TRIALS_MAX]; /* [ratio_count] measured over expected, where something was */
    bool ended, broken;        /* nothing more is asked; as the checked configuration does not run */
    bool begun, whole;         /* trials were asked for; they run whole jobs, on every model at first */
};

void rue_recheck_close(struct rue_recheck *recheck)
{
    if (!recheck) return;
    rue_duel_close(&recheck->duel);
    free(recheck);
}

static rue_status take_status(const struct rue_recheck *recheck, rue_error *error)
{
    const struct rue_duel *duel = &recheck->duel;
    return duel->status == RUE_OK ? RUE_OK : rue_fail(error, duel->status, "%s", duel->error.message);
}

rue_status rue_recheck_open(const struct rue_strategy_setup *setup, bool by_job, struct rue_recheck **out,
                            rue_error *error)
{
    if (!setup->prior || setup->prior->config >= setup->config_count)
        return rue_fail(error, RUE_USAGE, "no configuration to check");
    struct rue_recheck *recheck = calloc(1, sizeof *recheck);
    if (!recheck) return rue_fail_memory(error, "a check", sizeof *recheck);
    recheck->by_job = by_job;
    recheck->own = setup->prior->config;
    rue_status status = rue_duel_open(&recheck->duel, setup, error);
    if (status == RUE_OK) {
        rue_duel_update(&recheck->duel);
        status = take_status(recheck, error);
    }
    if (status != RUE_OK) return rue_recheck_close(recheck), status;
    *out = recheck;
    return RUE_OK;
}

/* ---- trials ---- */

/* The whole job, or as much of it as leaves time for some trials. */
static uint64_t job_trial_images(const struct rue_recheck *recheck, size_t config)
{
    const struct rue_strategy_setup *setup = &recheck->duel.setup;
    uint64_t batch = (uint64_t)setup->configs[config].value[RUE_BATCH_SIZE], job = setup->job_images;
    uint64_t least = rue_job_floor_images(&setup->configs[config], job);
    double most_s = 0, each_s = setup->budget_s / TRIALS_WANTED;
    for (size_t m = 0; m < setup->scenario_count; m++)
        most_s = fmax(most_s, rue_forecast_trial_s(recheck->duel.forecast, m, config, job));
    uint64_t images = (uint64_t)((double)job * fmin(1, each_s / most_s)) / batch * batch;
    if (images < least) images = least;
    return (double)images > whole_share * (double)job ? job : images;
}

static uint64_t trial_images(const struct rue_recheck *recheck, size_t config)
{
    if (recheck->whole) return recheck->duel.setup.job_images;
    if (recheck->by_job) return job_trial_images(recheck, config);
    return rue_trial_length_images(&trial_length, &recheck->duel.setup, config);
}

/* What the checked configuration is compared with next: what leads, or, where it leads itself, who would in
 * one draw; itself where there is no other. */
static size_t choose_rival(struct rue_recheck *recheck)
{
    struct rue_duel *duel = &recheck->duel;
    size_t leader = rue_standing_leader(duel->standing);
    if (leader != recheck->own) return leader;
    return rue_standing_challenger(duel->standing, rue_random_next(&duel->seed));
}

/* Two trials, or one where there is no rival, on one model. */
struct pair {
    size_t model, configs[2], count;
    double cost_s, rate;
};

static struct pair pair_of(const struct rue_recheck *recheck, size_t rival)
{
    return (struct pair){.configs = {recheck->own, rival},
                         .count = rival == recheck->own || rival == SIZE_MAX ? 1 : 2,
                         .rate = -INFINITY};
}

static double pair_cost_s(const struct rue_recheck *recheck, const struct pair *pair, size_t model)
{
    double sum = 0;
    for (size_t i = 0; i < pair->count; i++)
        sum +=
            rue_duel_cost_s(&recheck->duel, model, pair->configs[i], trial_images(recheck, pair->configs[i]));
    return sum;
}

/* On the model that tells most of their difference for its cost. */
static struct pair best_pair(struct rue_recheck *recheck, size_t rival)
{
    struct rue_duel *duel = &recheck->duel;
    struct pair best = pair_of(recheck, rival), pair = best;
    if (pair.count == 2)
        duel->status = rue_forecast_compare(duel->forecast, recheck->own, rival,
                                            rue_standing_weights(duel->standing, rival), &duel->error);
    for (; duel->status == RUE_OK && pair.model < duel->setup.scenario_count; pair.model++) {
        double gain = pair.count == 2 ? 0 : 1;
        for (size_t i = 0; i < 2 && pair.count == 2; i++)
            gain += rue_forecast_gain(duel->forecast, pair.model, pair.configs[i],
                                      trial_images(recheck, pair.configs[i]));
        pair.cost_s = pair_cost_s(recheck, &pair, pair.model);
        pair.rate = gain / pair.cost_s;
        if (pair.rate > best.rate) best = pair;
    }
    return best;
}

static void push_pair(struct rue_recheck *recheck, const struct pair *pair)
{
    struct rue_duel *duel = &recheck->duel;
    bool turned = duel->joints > 0 && rue_random_below(&duel->seed, 2);
    for (size_t i = 0; i < pair->count; i++) {
        size_t config = pair->configs[turned ? pair->count - 1 - i : i];
        rue_duel_push_joint(duel, pair->model, config, trial_images(recheck, config));
    }
}

static void push_next(struct rue_recheck *recheck)
{
    struct rue_duel *duel = &recheck->duel;
    struct pair pair = best_pair(recheck, choose_rival(recheck));
    bool room = duel->joints == 0 || cost_margin * pair.cost_s <= rue_duel_left_s(duel);
    if (room && duel->history.count + pair.count <= TRIALS_MAX)
        push_pair(recheck, &pair);
    else
        recheck->ended = true;
}

/* Whole jobs of the checked configuration and of the best of the others on every model, where the budget
 * holds them. */
static void push_whole_jobs(struct rue_recheck *recheck)
{
    struct rue_duel *duel = &recheck->duel;
    struct pair pair = pair_of(recheck, rue_duel_next_best(duel, &recheck->own, 1));
    size_t models = duel->setup.scenario_count;
    double cost_s = 0;
    recheck->begun = recheck->whole = true;
    for (size_t m = 0; m < models; m++) cost_s += pair_cost_s(recheck, &pair, m);
    recheck->whole = cost_margin * cost_s <= duel->setup.budget_s && models * pair.count <= TRIALS_MAX;
    for (; recheck->whole && pair.model < models; pair.model++) push_pair(recheck, &pair);
}

bool rue_recheck_ask(struct rue_recheck *recheck, struct rue_ask *out)
{
    struct rue_duel *duel = &recheck->duel;
    if (recheck->ended) return false;
    if (!recheck->begun) push_whole_jobs(recheck);
    if (rue_ask_queue_is_empty(&duel->queue)) push_next(recheck);
    if (duel->status != RUE_OK || !rue_ask_queue_pop(&duel->queue, out)) return false;
    out->repeat = (int)duel->history.count;
    return true;
}

double rue_recheck_expected_s(const struct rue_recheck *recheck, const struct rue_ask *ask, uint64_t images)
{
    const struct rue_strategy_setup *setup = &recheck->duel.setup;
    const struct rue_prior *prior = setup->prior;
    double offset = prior->offsets ? prior->offsets[ask->scenario * setup->config_count + ask->config] : 0;
    return exp(offset) *
           rue_knowledge_job_s(prior->knowledge, ask->scenario, &setup->configs[ask->config], images);
}

rue_status rue_recheck_tell(struct rue_recheck *recheck, const struct rue_ask *ask,
                            const struct rue_trial_result *result, rue_error *error)
{
    struct rue_duel *duel = &recheck->duel;
    bool ok = result->outcome == RUE_TRIAL_OK;
    double expected_s = ok ? rue_recheck_expected_s(recheck, ask, (uint64_t)result->images) : NAN;
    double ratio = (double)result->end_to_end_ns / 1e9 / expected_s;
    if (isfinite(ratio) && recheck->ratio_count < TRIALS_MAX) recheck->ratios[recheck->ratio_count++] = ratio;
    if (!ok && ask->config == recheck->own) recheck->ended = recheck->broken = true;
    rue_duel_note(duel, ask, result);
    if (duel->status == RUE_OK && !recheck->ended && rue_ask_queue_is_empty(&duel->queue))
        rue_duel_update(duel);
    return take_status(recheck, error);
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
    const struct rue_duel *duel;
    size_t checked, other;
    double mean, spread; /* of their difference; of draws about it */
    double margin, worse, worst;
};

static void count_draw(void *context, const struct rue_forecast_draw *draw)
{
    struct count *count = context;
    const struct rue_strategy_setup *setup = &count->duel->setup;
    double least = INFINITY, own = rue_joined_regrets_value(&draw->joined[count->checked], setup->objective);
    for (size_t c = 0; c < setup->config_count; c++)
        if (!rue_forecast_is_out(count->duel->forecast, c))
            least = fmin(least, rue_joined_regrets_value(&draw->joined[c], setup->objective));
    double other = rue_joined_regrets_value(&draw->joined[count->other], setup->objective);
    double worse = count->mean + count->spread * (own - other - count->mean);
    count->worse += worse > count->margin;
    count->worst += own - least > fmax(count->margin, unsure_ratio);
}

static bool is_tried(const struct rue_recheck *recheck, size_t config)
{
    const struct rue_ask_queue *history = &recheck->duel.history;
    for (size_t i = 0; i < history->count; i++)
        if (history->at[i].config == config) return true;
    return false;
}

static size_t best_tried(const struct rue_recheck *recheck)
{
    const struct rue_duel *duel = &recheck->duel;
    size_t best = recheck->own;
    for (size_t c = 0; c < duel->setup.config_count; c++)
        if (is_tried(recheck, c) &&
            rue_standing_regret(duel->standing, c) < rue_standing_regret(duel->standing, best))
            best = c;
    return best;
}

/* Where the checked configuration ran and may be recommended. */
static void judge(struct rue_recheck *recheck, double margin_ratio, struct rue_recheck_findings *out)
{
    struct rue_duel *duel = &recheck->duel;
    double own_regret = rue_standing_regret(duel->standing, recheck->own);
    out->excess_ratio = own_regret - rue_standing_regret(duel->standing, out->best);
    out->tried_ratio = own_regret - rue_standing_regret(duel->standing, best_tried(recheck));
    struct count count = {.duel = duel,
                          .checked = recheck->own,
                          .other = out->best,
                          .mean = out->excess_ratio,
                          .spread = rue_standing_spread(duel->standing),
                          .margin = margin_ratio};
    duel->status =
        rue_forecast_draw(duel->forecast, DRAWS, true, duel->setup.seed, count_draw, &count, &duel->error);
    bool trusted = rue_prediction_trusts_prior(rue_forecast_prediction(duel->forecast));
    bool alike = out->time_ratio <= other_ratio && out->time_ratio >= 1 / other_ratio;
    out->verdict = count.worse > beaten_share * DRAWS                  ? RUE_RECHECK_BEATEN
                   : !alike || (!trusted && count.worst > 0.5 * DRAWS) ? RUE_RECHECK_UNSURE
                                                                       : RUE_RECHECK_HOLDS;
}

rue_status rue_recheck_conclude(struct rue_recheck *recheck, double margin_ratio,
                                struct rue_recheck_findings *out, rue_error *error)
{
    struct rue_duel *duel = &recheck->duel;
    *out =
        (struct rue_recheck_findings){.verdict = RUE_RECHECK_UNTRIED,
                                      .time_ratio = median_ratio(recheck),
                                      .best = recheck->own,
                                      .excess_ratio = NAN,
                                      .tried_ratio = NAN,
                                      .whole_jobs = recheck->whole && rue_ask_queue_is_empty(&duel->queue)};
    for (size_t c = 0; c < duel->setup.config_count; c++) out->tried += is_tried(recheck, c);
    if (recheck->broken) out->verdict = RUE_RECHECK_FAILED;
    if (duel->joints == 0 || recheck->broken) return RUE_OK;
    rue_duel_update(duel);
    if (duel->status != RUE_OK) return take_status(recheck, error);
    out->best = rue_standing_leader(duel->standing);
    out->verdict = RUE_RECHECK_BEATEN;
    if (!rue_forecast_is_out(duel->forecast, recheck->own)) judge(recheck, margin_ratio, out);
    return take_status(recheck, error);
}
