#include "recheck.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "duel.h"
#include "job_time.h"
#include "random.h"
#include "strategy.h"

enum { TRIALS_MAX = 24, DRAWS = 256 };

static const double beaten_share = 0.9;    /* of the draws in which another configuration is better */
static const double max_loss_ratio = 0.02; /* loss that matters in half of the draws */
static const double max_time_ratio = 2;    /* beyond it or its inverse, it is another machine */
static const double cost_margin = 1.2;     /* reserve over the expected cost of trials */

struct recheck {
    struct rue_duel duel;
    double limit_s; /* of the checked configuration's first batch; 0: none */
    size_t checked; /* the configuration that is checked */
    size_t rival;   /* best other configuration under the prior; SIZE_MAX: none */
    double share;   /* of the job, in a trial */
    size_t pairs;   /* queued so far */
    size_t ratio_count;
    double ratios[TRIALS_MAX]; /* [ratio_count] measured over expected time, where known */
    bool done, failed;         /* the search has ended; because the checked configuration failed */
};

static void recheck_close(void *state)
{
    struct recheck *recheck = state;
    if (!recheck) return;
    rue_duel_close(&recheck->duel);
    free(recheck);
}

static uint64_t trial_images(const struct recheck *recheck, size_t config)
{
    const struct rue_strategy_setup *setup = &recheck->duel.setup;
    uint64_t batch = rue_trial_batch(&setup->grid.configs[config]), job = setup->job.images;
    uint64_t images = (uint64_t)((double)job * recheck->share) / batch * batch;
    uint64_t least_regret = setup->known.prior->whole_jobs
                                ? rue_job_min_images(&setup->grid.configs[config], job)
                                : rue_duel_shortest_images(&recheck->duel, config);
    if (recheck->share >= 1 || setup->runner.whole_jobs) return job;
    return images < least_regret ? least_regret : images;
}

/* Cost of one trial of the checked configuration and, if any, of the rival. */
static double pair_cost_s(const struct recheck *recheck, size_t model, size_t rival)
{
    const struct rue_duel *duel = &recheck->duel;
    double checked_s =
        rue_duel_cost_s(duel, model, recheck->checked, trial_images(recheck, recheck->checked));
    return rival == SIZE_MAX ? checked_s
                             : checked_s + rue_duel_cost_s(duel, model, rival, trial_images(recheck, rival));
}

/* The largest share that a budget of one pair per model allows. */
static void choose_share(struct recheck *recheck)
{
    const struct rue_strategy_setup *setup = &recheck->duel.setup;
    double whole_s = 0;
    size_t leader = rue_forecast_ranked(recheck->duel.forecast, 0);
    recheck->rival = leader == recheck->checked ? rue_forecast_ranked(recheck->duel.forecast, 1) : leader;
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
    unlimited.job.first_batch_limit_s = 0; /* rivals met it when the recommendation was made */
    recheck->limit_s = setup->job.first_batch_limit_s;
    recheck->checked = setup->known.prior->config;
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

/* Whether the next pair is one of whole jobs. */
static bool runs_whole_jobs(const struct recheck *recheck)
{
    return recheck->share >= 1 && recheck->pairs < recheck->duel.setup.grid.scenario_count;
}

/* The leader, or the challenger if the checked configuration leads. */
static size_t choose_rival(struct recheck *recheck)
{
    struct rue_duel *duel = &recheck->duel;
    if (runs_whole_jobs(recheck)) return recheck->rival;
    size_t leader = rue_forecast_ranked(duel->forecast, 0);
    if (leader != recheck->checked) return leader;
    size_t rival = rue_forecast_challenger(duel->forecast);
    return rival == recheck->checked ? SIZE_MAX : rival;
}

static void push_pair(struct recheck *recheck)
{
    struct rue_duel *duel = &recheck->duel;
    size_t rival = choose_rival(recheck), model = recheck->pairs % duel->setup.grid.scenario_count;
    bool queue_full = !runs_whole_jobs(recheck) && duel->history.count + 2 > TRIALS_MAX;
    bool affordable =
        duel->joints == 0 || cost_margin * pair_cost_s(recheck, model, rival) <= rue_duel_remaining_s(duel);
    if (!affordable || queue_full) {
        recheck->done = true;
        return;
    }
    recheck->pairs++;
    bool swapped = duel->joints > 0 && rue_random_below(&duel->seed, 2);
    for (int i = 0; i < 2; i++) {
        size_t config = (i == 0) == swapped ? rival : recheck->checked;
        if (config != SIZE_MAX) rue_duel_push_joint(duel, model, config, trial_images(recheck, config), 0);
    }
}

static bool recheck_ask(void *state, size_t node, struct rue_question *out)
{
    (void)node;
    struct recheck *recheck = state;
    struct rue_duel *duel = &recheck->duel;
    if (recheck->done) return false;
    if (rue_question_queue_is_empty(&duel->queue)) push_pair(recheck);
    if (duel->status != RUE_OK || !rue_question_queue_pop(&duel->queue, 0, out)) return false;
    out->repeat = (int)duel->history.count;
    return true;
}

static double expected_s(const struct recheck *recheck, const struct rue_question *question, uint64_t images)
{
    const struct rue_strategy_setup *setup = &recheck->duel.setup;
    const struct rue_prior *prior = setup->known.prior;
    size_t cell = question->scenario * setup->grid.config_count + question->config;
    return exp(prior->offsets ? prior->offsets[cell] : 0) *
           rue_knowledge_job_s(prior->knowledge, question->scenario, &setup->grid.configs[question->config],
                               images);
}

static void recheck_observe(void *state, const struct rue_question *question,
                            const struct rue_trial_result *result)
{
    struct recheck *recheck = state;
    struct rue_duel *duel = &recheck->duel;
    struct rue_trial_result job_result = *result;
    if (duel->setup.known.prior->whole_jobs)
        rue_job_extend(&job_result, duel->setup.job.images, duel->setup.job.drop_last);
    bool late =
        recheck->limit_s > 0 && (double)result->first_batch_ns / 1e9 > RUE_RECHECK_LATE * recheck->limit_s;
    if (job_result.outcome == RUE_TRIAL_OK && late) job_result.outcome = RUE_TRIAL_INFEASIBLE;
    bool ok = job_result.outcome == RUE_TRIAL_OK;
    double ratio = ok ? (double)job_result.end_to_end_ns / 1e9 /
                            expected_s(recheck, question, (uint64_t)job_result.images)
                      : NAN;
    if (isfinite(ratio) && recheck->ratio_count < TRIALS_MAX) recheck->ratios[recheck->ratio_count++] = ratio;
    if (!ok && question->config == recheck->checked) recheck->done = recheck->failed = true;
    rue_duel_observe(duel, question, &job_result);
    if (duel->status == RUE_OK && !recheck->done && rue_question_queue_is_empty(&duel->queue))
        rue_duel_update(duel);
}

static rue_status recheck_status(void *state, rue_error *error)
{
    return rue_duel_status(&((struct recheck *)state)->duel, error);
}

static bool is_tried(const struct recheck *recheck, size_t config)
{
    const struct rue_question_queue *history = &recheck->duel.history;
    for (size_t i = 0; i < history->count; i++)
        if (history->at[i].config == config) return true;
    return false;
}

/* For a checked configuration that runs. Counts two kinds of draws: the expected best one is better by more
 * than the margin; the loss to the draw's best one is too large. */
static void judge_verdict(struct recheck *recheck, double margin_ratio, struct rue_recheck_findings *out)
{
    struct rue_duel *duel = &recheck->duel;
    const struct rue_regret_summary *sampled = duel->forecast->sampled;
    enum rue_objective objective = duel->setup.aim.objective;
    double inflation = rue_forecast_inflation(duel->forecast);
    uint64_t seed = duel->setup.seed;
    int beaten_draws = 0, lost_draws = 0;
    out->excess_ratio = rue_forecast_regret(duel->forecast, recheck->checked) -
                        rue_forecast_regret(duel->forecast, out->best);
    for (int d = 0; d < DRAWS; d++) {
        double least_regret = INFINITY;
        size_t config;
        rue_forecast_sample(duel->forecast, &seed);
        for (size_t rank = 0; (config = rue_forecast_ranked(duel->forecast, rank)) != SIZE_MAX; rank++)
            least_regret = fmin(least_regret, rue_regret_summary_value(&sampled[config], objective));
        double checked = rue_regret_summary_value(&sampled[recheck->checked], objective),
               excess = checked - rue_regret_summary_value(&sampled[out->best], objective);
        beaten_draws += out->excess_ratio + inflation * (excess - out->excess_ratio) > margin_ratio;
        lost_draws += checked - least_regret > fmax(margin_ratio, max_loss_ratio);
    }
    bool similar = out->time_ratio <= max_time_ratio && out->time_ratio >= 1 / max_time_ratio;
    out->verdict = beaten_draws > beaten_share * DRAWS    ? RUE_RECHECK_BEATEN
                   : !similar || lost_draws > 0.5 * DRAWS ? RUE_RECHECK_UNSURE
                                                          : RUE_RECHECK_HOLDS;
}

static rue_status recheck_judge(void *state, struct rue_recheck_findings *out, rue_error *error)
{
    struct recheck *recheck = state;
    struct rue_duel *duel = &recheck->duel;
    *out = (struct rue_recheck_findings){
        .verdict = RUE_RECHECK_UNTRIED,
        .time_ratio = recheck->ratio_count ? gsl_stats_median(recheck->ratios, 1, recheck->ratio_count) : NAN,
        .best = recheck->checked,
        .excess_ratio = NAN,
        .whole_jobs =
            recheck->share >= 1 && !runs_whole_jobs(recheck) && rue_question_queue_is_empty(&duel->queue)};
    for (size_t c = 0; c < duel->setup.grid.config_count; c++) out->tried += is_tried(recheck, c);
    if (recheck->failed) out->verdict = RUE_RECHECK_FAILED;
    if (duel->joints == 0 || recheck->failed) return RUE_OK;
    rue_duel_update(duel);
    if (duel->status != RUE_OK) return rue_duel_status(&recheck->duel, error);
    out->best = rue_forecast_ranked(duel->forecast, 0);
    out->verdict = RUE_RECHECK_BEATEN;
    if (!duel->forecast->ineligible[recheck->checked])
        judge_verdict(recheck, duel->setup.aim.epsilon_ratio, out);
    return rue_duel_status(&recheck->duel, error);
}

const struct rue_strategy_ops rue_strategy_recheck = {.name = "recheck",
                                                      .open = recheck_open,
                                                      .ask = recheck_ask,
                                                      .observe = recheck_observe,
                                                      .judge = recheck_judge,
                                                      .status = recheck_status,
                                                      .close = recheck_close};
