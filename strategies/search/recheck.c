#include "recheck.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "duel.h"
#include "job_time.h"
#include "random.h"
#include "strategy.h"

enum { TRIALS_MAX = 24, DRAWS = 256 };

static const double beaten_share = 0.9;  /* of what is believed, in which another one is better */
static const double unsure_ratio = 0.02; /* what may be lost where the times are not what they were */
static const double other_ratio = 2;     /* of times: this is another machine, whatever else is found */
static const double cost_margin = 1.2;   /* of what trials may cost more than expected */

struct recheck {
    struct rue_duel duel;
    double limit_s; /* of the first batch of what is checked; 0: none */
    size_t own;     /* the configuration that is checked */
    size_t rival;   /* the best of the others before the first trial, as it was known; SIZE_MAX: none */
    double share;   /* of the job that trials run */
    size_t pairs;   /* asked for */
    size_t ratio_count;
    double ratios[TRIALS_MAX]; /* [ratio_count] measured over expected, where something was */
    bool ended, broken;        /* nothing more is asked; as the checked configuration does not run */
};

static void recheck_close(void *state)
{
    struct recheck *recheck = state;
    if (!recheck) return;
    rue_duel_close(&recheck->duel);
    free(recheck);
}

/* ---- trials ---- */

static uint64_t trial_images(const struct recheck *recheck, size_t config)
{
    const struct rue_strategy_setup *setup = &recheck->duel.setup;
    uint64_t batch = rue_trial_batch(&setup->grid.configs[config]), job = setup->job.images;
    uint64_t images = (uint64_t)((double)job * recheck->share) / batch * batch;
    uint64_t least = setup->known.prior->whole_jobs ? rue_job_min_images(&setup->grid.configs[config], job)
                                                    : rue_duel_shortest_images(&recheck->duel, config);
    if (recheck->share >= 1 || setup->runner.whole_jobs) return job;
    return images < least ? least : images;
}

/* Of the checked configuration and, where there is one, its rival. */
static double pair_cost_s(const struct recheck *recheck, size_t model, size_t rival)
{
    const struct rue_duel *duel = &recheck->duel;
    double own_s = rue_duel_cost_s(duel, model, recheck->own, trial_images(recheck, recheck->own));
    return rival == SIZE_MAX ? own_s
                             : own_s + rue_duel_cost_s(duel, model, rival, trial_images(recheck, rival));
}

/* Trials as long as lets the budget hold a pair on every model. */
static void choose_share(struct recheck *recheck)
{
    const struct rue_strategy_setup *setup = &recheck->duel.setup;
    double whole_s = 0;
    size_t leader = rue_forecast_ranked(recheck->duel.forecast, 0);
    recheck->rival = leader == recheck->own ? rue_forecast_ranked(recheck->duel.forecast, 1) : leader;
    recheck->share = 1;
    for (size_t m = 0; m < setup->grid.scenario_count; m++)
        whole_s += pair_cost_s(recheck, m, recheck->rival);
    recheck->share = fmin(1, setup->budget.seconds / (cost_margin * whole_s));
}

static rue_status recheck_open(const struct rue_strategy_setup *setup, void **state, rue_error *error)
{
    if (!setup->known.prior || setup->known.prior->config >= setup->grid.config_count)
        return rue_fail(error, RUE_USAGE, "no configuration to check");
    struct recheck *recheck = calloc(1, sizeof *recheck);
    if (!recheck) return rue_fail_memory(error, "a check", sizeof *recheck);
    struct rue_strategy_setup unlimited = *setup;
    unlimited.job.first_batch_limit_s = 0; /* rivals kept it when it was tuned */
    recheck->limit_s = setup->job.first_batch_limit_s;
    recheck->own = setup->known.prior->config;
    rue_status status = rue_duel_open(&recheck->duel, &unlimited, error);
    if (status == RUE_OK) {
        rue_duel_update(&recheck->duel);
        status = rue_duel_status(&recheck->duel, error);
    }
    if (status != RUE_OK) return recheck_close(recheck), status;
    choose_share(recheck);
    *state = recheck;
    return RUE_OK;
}

/* Whether whole jobs of it and of its best rival come first. */
static bool runs_whole_jobs(const struct recheck *recheck)
{
    return recheck->share >= 1 && recheck->pairs < recheck->duel.setup.grid.scenario_count;
}

/* What the checked configuration is compared with next: what leads, or, where it leads itself, who would in
 * one draw. */
static size_t choose_rival(struct recheck *recheck)
{
    struct rue_duel *duel = &recheck->duel;
    if (runs_whole_jobs(recheck)) return recheck->rival;
    size_t leader = rue_forecast_ranked(duel->forecast, 0);
    if (leader != recheck->own) return leader;
    size_t rival = rue_forecast_challenger(duel->forecast);
    return rival == recheck->own ? SIZE_MAX : rival;
}

/* The models in turn. */
static void push_pair(struct recheck *recheck)
{
    struct rue_duel *duel = &recheck->duel;
    size_t rival = choose_rival(recheck), model = recheck->pairs % duel->setup.grid.scenario_count;
    bool many = !runs_whole_jobs(recheck) && duel->history.count + 2 > TRIALS_MAX;
    bool room =
        duel->joints == 0 || cost_margin * pair_cost_s(recheck, model, rival) <= rue_duel_remaining_s(duel);
    if (!room || many) {
        recheck->ended = true;
        return;
    }
    recheck->pairs++;
    bool turned = duel->joints > 0 && rue_random_below(&duel->seed, 2);
    for (int i = 0; i < 2; i++) {
        size_t config = (i == 0) == turned ? rival : recheck->own;
        if (config != SIZE_MAX) rue_duel_push_joint(duel, model, config, trial_images(recheck, config));
    }
}

static bool recheck_ask(void *state, struct rue_question *out)
{
    struct recheck *recheck = state;
    struct rue_duel *duel = &recheck->duel;
    if (recheck->ended) return false;
    if (rue_question_queue_is_empty(&duel->queue)) push_pair(recheck);
    if (duel->status != RUE_OK || !rue_question_queue_pop(&duel->queue, out)) return false;
    out->repeat = (int)duel->history.count;
    return true;
}

static double expected_s(const struct recheck *recheck, const struct rue_question *ask, uint64_t images)
{
    const struct rue_strategy_setup *setup = &recheck->duel.setup;
    const struct rue_prior *prior = setup->known.prior;
    size_t cell = ask->scenario * setup->grid.config_count + ask->config;
    return exp(prior->offsets ? prior->offsets[cell] : 0) *
           rue_knowledge_job_s(prior->knowledge, ask->scenario, &setup->grid.configs[ask->config], images);
}

static void recheck_observe(void *state, const struct rue_question *ask,
                            const struct rue_trial_result *result)
{
    struct recheck *recheck = state;
    struct rue_duel *duel = &recheck->duel;
    struct rue_trial_result said = *result;
    if (duel->setup.known.prior->whole_jobs)
        rue_job_extend(&said, duel->setup.job.images, duel->setup.job.drop_last);
    bool late =
        recheck->limit_s > 0 && (double)result->first_batch_ns / 1e9 > RUE_RECHECK_LATE * recheck->limit_s;
    if (said.outcome == RUE_TRIAL_OK && late) said.outcome = RUE_TRIAL_INFEASIBLE;
    bool ok = said.outcome == RUE_TRIAL_OK;
    double ratio =
        ok ? (double)said.end_to_end_ns / 1e9 / expected_s(recheck, ask, (uint64_t)said.images) : NAN;
    if (isfinite(ratio) && recheck->ratio_count < TRIALS_MAX) recheck->ratios[recheck->ratio_count++] = ratio;
    if (!ok && ask->config == recheck->own) recheck->ended = recheck->broken = true;
    rue_duel_observe(duel, ask, &said);
    if (duel->status == RUE_OK && !recheck->ended && rue_question_queue_is_empty(&duel->queue))
        rue_duel_update(duel);
}

static rue_status recheck_status(void *state, rue_error *error)
{
    return rue_duel_status(&((struct recheck *)state)->duel, error);
}

/* ---- verdict ---- */

static bool is_tried(const struct recheck *recheck, size_t config)
{
    const struct rue_question_queue *history = &recheck->duel.history;
    for (size_t i = 0; i < history->count; i++)
        if (history->at[i].config == config) return true;
    return false;
}

/* Where the checked configuration ran and may be recommended. `beaten`: in how many of the possible truths
 * the best one is better by more than the margin; `lost`: whatever is the best then. */
static void judge_verdict(struct recheck *recheck, double margin_ratio, struct rue_recheck_findings *out)
{
    struct rue_duel *duel = &recheck->duel;
    const struct rue_regret_summary *drawn = duel->forecast->sampled;
    enum rue_objective objective = duel->setup.aim.objective;
    double spread = rue_forecast_inflation(duel->forecast);
    uint64_t seed = duel->setup.seed;
    int beaten = 0, lost = 0;
    out->excess_ratio =
        rue_forecast_regret(duel->forecast, recheck->own) - rue_forecast_regret(duel->forecast, out->best);
    for (int d = 0; d < DRAWS; d++) {
        double least = INFINITY;
        size_t config;
        rue_forecast_sample(duel->forecast, &seed);
        for (size_t place = 0; (config = rue_forecast_ranked(duel->forecast, place)) != SIZE_MAX; place++)
            least = fmin(least, rue_regret_summary_value(&drawn[config], objective));
        double own = rue_regret_summary_value(&drawn[recheck->own], objective),
               excess = own - rue_regret_summary_value(&drawn[out->best], objective);
        beaten += out->excess_ratio + spread * (excess - out->excess_ratio) > margin_ratio;
        lost += own - least > fmax(margin_ratio, unsure_ratio);
    }
    bool alike = out->time_ratio <= other_ratio && out->time_ratio >= 1 / other_ratio;
    out->verdict = beaten > beaten_share * DRAWS  ? RUE_RECHECK_BEATEN
                   : !alike || lost > 0.5 * DRAWS ? RUE_RECHECK_UNSURE
                                                  : RUE_RECHECK_HOLDS;
}

static rue_status recheck_judge(void *state, struct rue_recheck_findings *out, rue_error *error)
{
    struct recheck *recheck = state;
    struct rue_duel *duel = &recheck->duel;
    *out = (struct rue_recheck_findings){
        .verdict = RUE_RECHECK_UNTRIED,
        .time_ratio = recheck->ratio_count ? gsl_stats_median(recheck->ratios, 1, recheck->ratio_count) : NAN,
        .best = recheck->own,
        .excess_ratio = NAN,
        .whole_jobs =
            recheck->share >= 1 && !runs_whole_jobs(recheck) && rue_question_queue_is_empty(&duel->queue)};
    for (size_t c = 0; c < duel->setup.grid.config_count; c++) out->tried += is_tried(recheck, c);
    if (recheck->broken) out->verdict = RUE_RECHECK_FAILED;
    if (duel->joints == 0 || recheck->broken) return RUE_OK;
    rue_duel_update(duel);
    if (duel->status != RUE_OK) return rue_duel_status(&recheck->duel, error);
    out->best = rue_forecast_ranked(duel->forecast, 0);
    out->verdict = RUE_RECHECK_BEATEN;
    if (!duel->forecast->ineligible[recheck->own]) judge_verdict(recheck, duel->setup.aim.epsilon_ratio, out);
    return rue_duel_status(&recheck->duel, error);
}

const struct rue_strategy_ops rue_strategy_recheck = {.name = "recheck",
                                                      .open = recheck_open,
                                                      .ask = recheck_ask,
                                                      .observe = recheck_observe,
                                                      .judge = recheck_judge,
                                                      .status = recheck_status,
                                                      .close = recheck_close};
