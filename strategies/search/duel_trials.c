/* The choice of joint trials. */
#include <math.h>

#include "duel.h"
#include "job_time.h"
#include "random.h"

/* FINALISTS: configurations that run whole jobs before an early stop. */
enum {
    LENGTHS = 3,
    FINALISTS = 3,
    SHORTLIST_MAX = 12,
    BASELINES_MAX = 8,
    AUDITS_MIN = 3,
    AUDIT_ATTEMPTS = 24
};

/* Lengths of trials: a share of the job, at least some rounds of all workers and some batches. */
static const struct length {
    double share, rounds, batches;
} lengths[LENGTHS] = {{0.1, 2, 4}, {0.3, 2, 4}, {1, 1, 1}};
static const double whole_share = 0.7;               /* of the job; longer trials run the whole job */
static const double cost_margin = 1.15;              /* reserve for verification over its expected cost */
static const double audit_share = 0.1;               /* of the joint trials that are audits */
static const double miscalibrated_audit_share = 0.5; /* the same when predictions are far off */
static const double baselines_share = 0.1;           /* of the budget, for whole jobs of baselines */
static const double finalists_share = 0.2;           /* of the budget, for whole jobs of finalists */
static const double audit_cost_share = 0.01;         /* of the budget, the most expensive audit */
static const double min_reduction = 1e-10;           /* of the variance of a mean regret; numerically zero */

static uint64_t length_images(const struct rue_duel *duel, const struct length *length, size_t config)
{
    uint64_t job = duel->setup.job.images;
    const struct rue_config *own = &duel->setup.grid.configs[config];
    double batch = (double)rue_trial_batch(own), workers = (double)rue_trial_loaders(own);
    double least = fmax(length->share * (double)job, batch * fmax(length->rounds * workers, length->batches));
    bool full = duel->setup.runner.whole_jobs || least > whole_share * (double)job;
    return full ? job : (uint64_t)(ceil(least / batch) * batch);
}

uint64_t rue_duel_shortest_images(const struct rue_duel *duel, size_t config)
{
    return length_images(duel, &lengths[0], config);
}

/* ---- verification ---- */

static bool is_joint(const struct rue_question *question, size_t model, size_t config, uint64_t images)
{
    return question->measure == RUE_JOINT && question->scenario == model && question->config == config &&
           question->images >= images;
}

/* Whether a node is making a joint trial of a cell. */
static bool is_being_made(const struct rue_duel *duel, size_t model, size_t config, uint64_t images)
{
    for (size_t n = 1; n <= duel->setup.runner.nodes; n++)
        if (duel->nodes[n].busy && is_joint(&duel->nodes[n].question, model, config, images)) return true;
    return false;
}

/* Whether a cell has no joint trial, or with `full` none of the whole job. */
static bool is_missing(const struct rue_duel *duel, size_t model, size_t config, bool full)
{
    struct rue_estimate cell = rue_forecast_estimate(duel->forecast, model, config);
    uint64_t images = full ? duel->setup.job.images : 0;
    return (full ? !cell.full : cell.trials == 0) && !is_being_made(duel, model, config, images);
}

/* The part of the budget that trials take. Several nodes wait for the last one (Graham 1969). */
static double spread_s(const struct rue_duel *duel, double sum_s, double longest_s)
{
    return sum_s + longest_s * ((double)rue_duel_node_count(duel) - 1);
}

static double missing_s(const struct rue_duel *duel, size_t config, size_t *trials)
{
    uint64_t images = rue_duel_shortest_images(duel, config);
    double sum = 0, longest = 0;
    for (size_t m = 0; m < duel->setup.grid.scenario_count; m++) {
        if (!is_missing(duel, m, config, false)) continue;
        double cost_s = rue_duel_cost_s(duel, m, config, images);
        sum += cost_s;
        longest = fmax(longest, cost_s);
        ++*trials;
    }
    return spread_s(duel, sum, longest);
}

double rue_duel_verification_s(const struct rue_duel *duel, size_t config, size_t *trials)
{
    *trials = 0;
    return cost_margin * missing_s(duel, config, trials);
}

void rue_duel_push_verification(struct rue_duel *duel, size_t config)
{
    for (size_t m = 0; m < duel->setup.grid.scenario_count; m++)
        if (is_missing(duel, m, config, false))
            rue_duel_push_joint(duel, m, config, rue_duel_shortest_images(duel, config), 0);
}

bool rue_duel_can_verify(const struct rue_duel *duel, size_t config)
{
    size_t trials = 0;
    return missing_s(duel, config, &trials) <= rue_duel_remaining_s(duel) &&
           !rue_duel_lacks_trials(duel, trials);
}

size_t rue_duel_to_verify(const struct rue_duel *duel)
{
    size_t best = rue_forecast_ranked(duel->forecast, 0), config = best, untried;
    double leader_regret = rue_forecast_regret(duel->forecast, best), least_s = INFINITY;
    for (size_t rank = 0; config != SIZE_MAX; config = rue_forecast_ranked(duel->forecast, ++rank)) {
        double needed_s = rue_duel_verification_s(duel, config, &untried);
        if (rue_forecast_regret(duel->forecast, config) - leader_regret > RUE_MEASURED_ADVANTAGE) break;
        if (needed_s < least_s) least_s = needed_s, best = config;
    }
    return best;
}

void rue_duel_push_best_verification(struct rue_duel *duel)
{
    size_t rank = 0, first = rue_duel_to_verify(duel), config = first; /* then by rank */
    while (config != SIZE_MAX && !rue_forecast_is_any_verified(duel->forecast) &&
           !rue_duel_can_verify(duel, config))
        config = rue_forecast_ranked(duel->forecast, rank++);
    if (config == SIZE_MAX) config = first;
    for (size_t m = 0; m < duel->setup.grid.scenario_count; m++) {
        if (!is_missing(duel, m, config, false)) continue;
        rue_duel_push_joint(duel, m, config, rue_duel_shortest_images(duel, config), 0);
        return;
    }
}

/* ---- whole jobs of the leader and of others ---- */

/* Whether the node ran the whole job, or does now. */
static bool ran_job(const struct rue_duel *duel, size_t node, size_t model, size_t config)
{
    uint64_t job = duel->setup.job.images;
    const struct rue_duel_node *now = &duel->nodes[node];
    if (now->busy && is_joint(&now->question, model, config, job)) return true;
    for (size_t i = 0; i < duel->history.count; i++)
        if (duel->history.at[i].node == node && is_joint(&duel->history.at[i], model, config, job))
            return true;
    return false;
}

/* Whether a configuration is still to be compared with the leader on a model: by whole jobs, of a farm on the
 * same node. */
static bool is_unpaired(const struct rue_duel *duel, size_t model, size_t leader, size_t config)
{
    if (!duel->setup.runner.nodes) return is_missing(duel, model, config, true);
    for (size_t n = 1; n <= duel->setup.runner.nodes; n++)
        if (ran_job(duel, n, model, leader) && ran_job(duel, n, model, config)) return false;
    return true;
}

/* `configs` [count], the leader first. It runs beside each of the others. */
static bool needs_job(const struct rue_duel *duel, size_t model, const size_t *configs, size_t count,
                      size_t index)
{
    bool needed = is_unpaired(duel, model, configs[0], configs[index]);
    for (size_t i = 1; index == 0 && duel->setup.runner.nodes && i < count; i++)
        needed |= is_unpaired(duel, model, configs[0], configs[i]);
    return needed;
}

static double jobs_s(const struct rue_duel *duel, const size_t *configs, size_t count, size_t *trials)
{
    double sum = 0, longest = 0;
    for (size_t m = 0; m < duel->setup.grid.scenario_count; m++) {
        double before = sum;
        for (size_t i = 0; i < count; i++) {
            if (!needs_job(duel, m, configs, count, i)) continue;
            sum += rue_duel_cost_s(duel, m, configs[i], duel->setup.job.images);
            ++*trials;
        }
        longest = fmax(longest, sum - before);
    }
    return spread_s(duel, sum, longest);
}

/* Alternates the order from model to model, so that drift favours no configuration. */
static void push_jobs(struct rue_duel *duel, const size_t *configs, size_t count)
{
    for (size_t m = 0; m < duel->setup.grid.scenario_count; m++) {
        duel->blocks++;
        for (size_t i = 0; i < count; i++) {
            size_t index = m % 2 ? count - 1 - i : i;
            if (needs_job(duel, m, configs, count, index))
                rue_duel_push_joint(duel, m, configs[index], duel->setup.job.images, duel->blocks);
        }
    }
}

static size_t list_finalists(const struct rue_duel *duel, size_t out[FINALISTS])
{
    size_t count = 0, config;
    while (count < FINALISTS && (config = rue_forecast_ranked(duel->forecast, count)) != SIZE_MAX)
        out[count++] = config;
    return count;
}

double rue_duel_finalists_s(const struct rue_duel *duel, size_t *trials)
{
    size_t chosen[FINALISTS], count = list_finalists(duel, chosen), jobs = 0;
    if (!duel->setup.runner.nodes) return 0;
    double cost_s = cost_margin * jobs_s(duel, chosen, count, &jobs);
    if (cost_s > finalists_share * rue_duel_budget_s(duel) ||
        (double)jobs >
            finalists_share * (double)(duel->setup.budget.trials ? duel->setup.budget.trials : SIZE_MAX))
        return 0;
    *trials += jobs;
    return cost_s;
}

bool rue_duel_push_finalists(struct rue_duel *duel, double limit_s)
{
    size_t chosen[FINALISTS], count = list_finalists(duel, chosen), trials = 0;
    if (jobs_s(duel, chosen, count, &trials) > limit_s || rue_duel_lacks_trials(duel, trials)) return false;
    push_jobs(duel, chosen, count);
    return true;
}

/* ---- baselines ---- */

/* Lists the leader, and the baselines whose whole jobs cost a small part of the budget, most important first,
 * into `out`. Returns their number; 0 without such a baseline. */
static size_t list_baselines(const struct rue_duel *duel, size_t out[BASELINES_MAX])
{
    const struct rue_strategy_setup *setup = &duel->setup;
    size_t count = 1, models = setup->grid.scenario_count;
    double cost_s = 0;
    out[0] = rue_forecast_ranked(duel->forecast, 0);
    for (size_t i = setup->known.baseline_count; i-- > 0 && count < BASELINES_MAX;) {
        size_t config = setup->known.baselines[i];
        if (config == out[0] || duel->forecast->excluded[config]) continue;
        for (size_t m = 0; m < models; m++) cost_s += rue_duel_cost_s(duel, m, config, setup->job.images);
        bool exceeds_trials =
            setup->budget.trials && (double)(count * models) > baselines_share * (double)setup->budget.trials;
        if (exceeds_trials || cost_s > baselines_share * rue_duel_budget_s(duel)) break;
        out[count++] = config;
    }
    return count > 1 ? count : 0;
}

double rue_duel_baselines_s(const struct rue_duel *duel, size_t *trials)
{
    size_t configs[BASELINES_MAX], count = list_baselines(duel, configs);
    return cost_margin * jobs_s(duel, configs, count, trials);
}

void rue_duel_push_baselines(struct rue_duel *duel)
{
    size_t configs[BASELINES_MAX], count = list_baselines(duel, configs), trials = 0;
    double needed_s = rue_duel_baselines_s(duel, &trials) / cost_margin;
    if (needed_s <= rue_duel_remaining_s(duel) && !rue_duel_lacks_trials(duel, trials))
        push_jobs(duel, configs, count);
}

/* ---- the next trial ---- */

/* A candidate for the next trial. */
struct candidate {
    size_t model, config;
    uint64_t images;
    double rate; /* variance reduction per second; -INFINITY: too expensive */
};

/* The best length of a trial of that cell. */
static struct candidate best_candidate(const struct rue_duel *duel, size_t model, size_t config,
                                       double limit_s)
{
    struct candidate best = {.rate = -INFINITY};
    for (size_t i = duel->setup.runner.whole_jobs ? LENGTHS - 1 : 0; i < LENGTHS; i++) {
        uint64_t images = length_images(duel, &lengths[i], config);
        struct candidate candidate = {model, config, images, -INFINITY};
        double reduction = rue_forecast_variance_reduction(duel->forecast, duel->node, model, config, images),
               cost = rue_duel_cost_s(duel, model, config, images);
        if (cost <= limit_s && reduction >= min_reduction) candidate.rate = reduction / cost;
        if (candidate.rate > best.rate) best = candidate;
    }
    return best;
}

/* The cells with the largest squared covariance with the contrast per second: a cheap proxy for the gain of
 * their trials. */
static size_t shortlist_cells(const struct rue_duel *duel, size_t cells[SHORTLIST_MAX])
{
    const struct rue_strategy_setup *setup = &duel->setup;
    double rates[SHORTLIST_MAX];
    size_t count = 0;
    for (size_t i = 0; i < setup->grid.scenario_count * setup->grid.config_count; i++) {
        size_t model = i / setup->grid.config_count, config = i % setup->grid.config_count;
        if (duel->forecast->excluded[config]) continue;
        double covariance = rue_forecast_covariance(duel->forecast, model, config);
        double rate = covariance * covariance /
                      rue_duel_cost_s(duel, model, config, rue_duel_shortest_images(duel, config));
        size_t at = count < SHORTLIST_MAX ? count++ : SHORTLIST_MAX;
        for (; at > 0 && rates[at - 1] < rate; at--)
            if (at < SHORTLIST_MAX) cells[at] = cells[at - 1], rates[at] = rates[at - 1];
        if (at < SHORTLIST_MAX) cells[at] = i, rates[at] = rate;
    }
    return count;
}

/* Queues the trial, of any cell, that best separates leader and challenger for its cost. */
static void push_best_comparison(struct rue_duel *duel, double limit_s)
{
    size_t leader = rue_forecast_ranked(duel->forecast, 0),
           challenger = rue_forecast_challenger(duel->forecast), cells[SHORTLIST_MAX];
    struct candidate best = {.rate = -INFINITY};
    if (challenger == leader) return;
    size_t trials = rue_posterior_trial_count(duel->forecast->posterior);
    for (size_t n = 1; n <= duel->setup.runner.nodes; n++)
        if (duel->nodes[n].busy && duel->nodes[n].question.measure == RUE_JOINT)
            rue_forecast_assume(duel->forecast, &duel->nodes[n].question, duel->costs.nodes[n].spent_s);
    rue_forecast_set_contrast(duel->forecast, leader, challenger);
    size_t count = shortlist_cells(duel, cells);
    for (size_t i = 0; i < count; i++) {
        struct candidate candidate = best_candidate(duel, cells[i] / duel->setup.grid.config_count,
                                                    cells[i] % duel->setup.grid.config_count, limit_s);
        if (candidate.rate > best.rate) best = candidate;
    }
    rue_posterior_truncate(duel->forecast->posterior, trials);
    if (!isinf(best.rate)) rue_duel_push_joint(duel, best.model, best.config, best.images, 0);
}

/* Repeats a trial that was probably disturbed, once. If the repeat agrees, the prediction was wrong. */
static bool push_repeat(struct rue_duel *duel, double limit_s)
{
    const struct rue_question_queue *history = &duel->history;
    if (history->count == 0 || !rue_posterior_is_last_disturbed(duel->forecast->posterior)) return false;
    struct rue_question last = history->at[history->count - 1];
    if (rue_question_queue_count_same(history, &last) > 1 || duel->forecast->excluded[last.config] ||
        is_being_made(duel, last.scenario, last.config, last.images) ||
        rue_duel_cost_s(duel, last.scenario, last.config, last.images) > limit_s)
        return false;
    rue_duel_push_joint(duel, last.scenario, last.config, last.images, 0);
    return true;
}

/* Audits: some trials are of random cells, preferably unmeasured ones. They test predictions where the
 * search would not look. Whole jobs if they are cheap. */
static bool push_audit(struct rue_duel *duel, double limit_s, bool miscalibrated, size_t *audits)
{
    double joints = (double)duel->joints, share = miscalibrated ? miscalibrated_audit_share : audit_share;
    if ((double)*audits >= fmax(fmin(AUDITS_MIN, joints / 4), share * joints)) return false;
    ++*audits;
    limit_s = fmin(limit_s, audit_cost_share * rue_duel_budget_s(duel));
    for (int attempt = 0; attempt < AUDIT_ATTEMPTS; attempt++) {
        size_t untried, model = (size_t)rue_random_below(&duel->seed, duel->setup.grid.scenario_count),
                        config = (size_t)rue_random_below(&duel->seed, duel->setup.grid.config_count);
        uint64_t images = duel->setup.job.images;
        rue_duel_verification_s(duel, config, &untried);
        bool known = miscalibrated ? !is_missing(duel, model, config, false)
                                   : untried < duel->setup.grid.scenario_count;
        if ((known && (miscalibrated || attempt < AUDIT_ATTEMPTS / 2)) || duel->forecast->excluded[config])
            continue;
        if (rue_duel_cost_s(duel, model, config, images) > limit_s)
            images = rue_duel_shortest_images(duel, config);
        if (rue_duel_cost_s(duel, model, config, images) > limit_s) continue;
        rue_duel_push_joint(duel, model, config, images, 0);
        return true;
    }
    return false;
}

void rue_duel_push_next(struct rue_duel *duel, double limit_s, bool miscalibrated, size_t *audits)
{
    if (duel->setup.runner.nodes) limit_s = fmin(limit_s, rue_duel_node_remaining_s(duel));
    if (!push_repeat(duel, limit_s) && !push_audit(duel, limit_s, miscalibrated, audits))
        push_best_comparison(duel, limit_s);
}
