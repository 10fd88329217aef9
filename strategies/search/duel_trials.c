/* The joint trials that a duel asks for. */
#include <math.h>

#include "duel.h"
#include "job_time.h"
#include "random.h"

/* FINALISTS: configurations that run whole jobs before an early end. */
enum { LENGTHS = 3, FINALISTS = 3, TELLING = 12, COMPARED_MAX = 8, AUDITS_LEAST = 3, AUDIT_TRIES = 24 };

/* How long trials are: a share of the job, but some rounds of all workers, and some batches, at least. */
static const struct length {
    double share, rounds, batches;
} lengths[LENGTHS] = {{0.1, 2, 4}, {0.3, 2, 4}, {1, 1, 1}};
static const double whole_share = 0.7;       /* of the job; above it, the whole job */
static const double verify_margin = 1.15;    /* of what the last trials may cost more than expected */
static const double audit_share = 0.1;       /* of the joint trials */
static const double far_off_audits = 0.5;    /* of them where predictions are far off */
static const double baselines_share = 0.1;   /* of the budget, for whole jobs of baselines */
static const double audit_cost_share = 0.01; /* of the budget: no audit costs more */
static const double least_gain = 1e-10;      /* of the variance of a mean regret: less is nothing */

static uint64_t length_images(const struct rue_duel *duel, const struct length *length, size_t config)
{
    uint64_t job = duel->setup.job.images;
    const struct rue_config *own = &duel->setup.grid.configs[config];
    double batch = (double)rue_trial_batch(own), workers = (double)rue_trial_loaders(own);
    double least = fmax(length->share * (double)job, batch * fmax(length->rounds * workers, length->batches));
    bool whole = duel->setup.runner.whole_jobs || least > whole_share * (double)job;
    return whole ? job : (uint64_t)(ceil(least / batch) * batch);
}

uint64_t rue_duel_shortest_images(const struct rue_duel *duel, size_t config)
{
    return length_images(duel, &lengths[0], config);
}

/* ---- verification ---- */

/* A configuration on the models where it did not run at all, or not the whole job. */
static bool is_missing(const struct rue_duel *duel, size_t model, size_t config, bool whole)
{
    struct rue_estimate cell = rue_forecast_estimate(duel->forecast, model, config);
    return whole ? !cell.full : cell.trials == 0;
}

static double missing_s(const struct rue_duel *duel, size_t config, bool whole, size_t *trials)
{
    uint64_t images = whole ? duel->setup.job.images : rue_duel_shortest_images(duel, config);
    double sum = 0;
    for (size_t m = 0; m < duel->setup.grid.scenario_count; m++) {
        if (!is_missing(duel, m, config, whole)) continue;
        sum += rue_duel_cost_s(duel, m, config, images);
        ++*trials;
    }
    return sum;
}

/* One after the other on each model, in turns from either end: drift favours none. */
static void push_missing(struct rue_duel *duel, const size_t *configs, size_t count, bool whole)
{
    for (size_t m = 0; m < duel->setup.grid.scenario_count; m++)
        for (size_t i = 0; i < count; i++) {
            size_t config = configs[m % 2 ? count - 1 - i : i];
            uint64_t images = whole ? duel->setup.job.images : rue_duel_shortest_images(duel, config);
            if (is_missing(duel, m, config, whole)) rue_duel_push_joint(duel, m, config, images);
        }
}

double rue_duel_verification_s(const struct rue_duel *duel, size_t config, size_t *trials)
{
    *trials = 0;
    return verify_margin * missing_s(duel, config, false, trials);
}

void rue_duel_push_verification(struct rue_duel *duel, size_t config)
{
    push_missing(duel, &config, 1, false);
}

static bool has_room(const struct rue_duel *duel, size_t config)
{
    size_t trials = 0;
    return missing_s(duel, config, false, &trials) <= rue_duel_remaining_s(duel) &&
           !rue_duel_lacks_trials(duel, trials);
}

void rue_duel_push_best_verification(struct rue_duel *duel)
{
    size_t place = 0, leader = rue_forecast_ranked(duel->forecast, 0), config = leader;
    while (config != SIZE_MAX && !rue_forecast_is_any_verified(duel->forecast) && !has_room(duel, config))
        config = rue_forecast_ranked(duel->forecast, ++place);
    rue_duel_push_verification(duel, config == SIZE_MAX ? leader : config);
}

bool rue_duel_push_finalists(struct rue_duel *duel, double most_s)
{
    size_t chosen[FINALISTS], count = 0, trials = 0, config;
    while (count < FINALISTS && (config = rue_forecast_ranked(duel->forecast, count)) != SIZE_MAX) {
        most_s -= missing_s(duel, config, true, &trials);
        chosen[count++] = config;
    }
    if (most_s < 0 || rue_duel_lacks_trials(duel, trials)) return false;
    push_missing(duel, chosen, count, true);
    return true;
}

/* ---- baselines ---- */

/* What is compared, into `out`: the leader, and the baselines whose whole jobs are a small part of the
 * budget, the most telling first. Returns how many there are; 0 where there is no such baseline. */
static size_t list_compared(const struct rue_duel *duel, size_t out[COMPARED_MAX])
{
    const struct rue_strategy_setup *setup = &duel->setup;
    size_t count = 1, models = setup->grid.scenario_count;
    double cost_s = 0;
    out[0] = rue_forecast_ranked(duel->forecast, 0);
    for (size_t i = setup->known.baseline_count; i-- > 0 && count < COMPARED_MAX;) {
        size_t config = setup->known.baselines[i];
        if (config == out[0] || duel->forecast->excluded[config]) continue;
        for (size_t m = 0; m < models; m++) cost_s += rue_duel_cost_s(duel, m, config, setup->job.images);
        bool many =
            setup->budget.trials && (double)(count * models) > baselines_share * (double)setup->budget.trials;
        if (many || cost_s > baselines_share * setup->budget.seconds) break;
        out[count++] = config;
    }
    return count > 1 ? count : 0;
}

double rue_duel_baselines_s(const struct rue_duel *duel, size_t *trials)
{
    size_t compared[COMPARED_MAX], count = list_compared(duel, compared);
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += missing_s(duel, compared[i], true, trials);
    return verify_margin * sum;
}

void rue_duel_push_baselines(struct rue_duel *duel)
{
    size_t compared[COMPARED_MAX], count = list_compared(duel, compared), trials = 0;
    double needed_s = rue_duel_baselines_s(duel, &trials) / verify_margin;
    if (needed_s <= rue_duel_remaining_s(duel) && !rue_duel_lacks_trials(duel, trials))
        push_missing(duel, compared, count, true);
}

/* ---- what decides ---- */

/* A trial that may be made, and what it brings. */
struct option {
    size_t model, config;
    uint64_t images;
    double rate; /* variance of the difference lessened, a second; -INFINITY where it costs too much */
};

/* The length that tells most for its cost. */
static struct option best_length(const struct rue_duel *duel, size_t model, size_t config, double most_s)
{
    struct option best = {.rate = -INFINITY};
    for (size_t i = duel->setup.runner.whole_jobs ? LENGTHS - 1 : 0; i < LENGTHS; i++) {
        uint64_t images = length_images(duel, &lengths[i], config);
        struct option option = {model, config, images, -INFINITY};
        double gain = rue_forecast_variance_reduction(duel->forecast, model, config, images),
               cost = rue_duel_cost_s(duel, model, config, images);
        if (cost <= most_s && gain >= least_gain) option.rate = gain / cost;
        if (option.rate > best.rate) best = option;
    }
    return best;
}

/* The cells whose jobs go most closely with the difference that is to be decided, for what they cost. */
static size_t list_telling(const struct rue_duel *duel, size_t cells[TELLING])
{
    const struct rue_strategy_setup *setup = &duel->setup;
    double rates[TELLING];
    size_t count = 0;
    for (size_t i = 0; i < setup->grid.scenario_count * setup->grid.config_count; i++) {
        size_t model = i / setup->grid.config_count, config = i % setup->grid.config_count;
        if (duel->forecast->excluded[config]) continue;
        double with = rue_forecast_covariance(duel->forecast, model, config);
        double rate =
            with * with / rue_duel_cost_s(duel, model, config, rue_duel_shortest_images(duel, config));
        size_t at = count < TELLING ? count++ : TELLING;
        for (; at > 0 && rates[at - 1] < rate; at--)
            if (at < TELLING) cells[at] = cells[at - 1], rates[at] = rates[at - 1];
        if (at < TELLING) cells[at] = i, rates[at] = rate;
    }
    return count;
}

/* The trial that decides between the one that leads and one that may be better: any cell, as long as tells
 * most for its cost. */
static void push_deciding(struct rue_duel *duel, double most_s)
{
    size_t leader = rue_forecast_ranked(duel->forecast, 0), other = rue_forecast_challenger(duel->forecast),
           cells[TELLING];
    struct option best = {.rate = -INFINITY};
    if (other == leader) return;
    rue_forecast_set_contrast(duel->forecast, leader, other);
    size_t count = list_telling(duel, cells);
    for (size_t i = 0; i < count; i++) {
        struct option option = best_length(duel, cells[i] / duel->setup.grid.config_count,
                                           cells[i] % duel->setup.grid.config_count, most_s);
        if (option.rate > best.rate) best = option;
    }
    if (!isinf(best.rate)) rue_duel_push_joint(duel, best.model, best.config, best.images);
}

/* What seems to be disturbed is tried again, once: where that says the same, the belief was off. */
static bool push_again(struct rue_duel *duel, double most_s)
{
    const struct rue_question_queue *history = &duel->history;
    if (history->count == 0 || !rue_posterior_is_last_disturbed(duel->forecast->posterior)) return false;
    struct rue_question last = history->at[history->count - 1];
    if (rue_question_queue_count_same(history, &last) > 1 || duel->forecast->excluded[last.config] ||
        rue_duel_cost_s(duel, last.scenario, last.config, last.images) > most_s)
        return false;
    rue_duel_push_joint(duel, last.scenario, last.config, last.images);
    return true;
}

/* Now and then a trial of any cell, the whole job where that is cheap: predictions are tested where nobody
 * would look, and best where nothing was tried yet. */
static bool push_audit(struct rue_duel *duel, double most_s, bool far_off, size_t *audits)
{
    double joints = (double)duel->joints, share = far_off ? far_off_audits : audit_share;
    if ((double)*audits >= fmax(fmin(AUDITS_LEAST, joints / 4), share * joints)) return false;
    ++*audits;
    most_s = fmin(most_s, audit_cost_share * duel->setup.budget.seconds);
    for (int try = 0; try < AUDIT_TRIES; try++) {
        size_t unseen, model = (size_t)rue_random_below(&duel->seed, duel->setup.grid.scenario_count),
                       config = (size_t)rue_random_below(&duel->seed, duel->setup.grid.config_count);
        uint64_t images = duel->setup.job.images;
        rue_duel_verification_s(duel, config, &unseen);
        bool tried =
            far_off ? !is_missing(duel, model, config, false) : unseen < duel->setup.grid.scenario_count;
        if ((tried && (far_off || try < AUDIT_TRIES / 2)) || duel->forecast->excluded[config]) continue;
        if (rue_duel_cost_s(duel, model, config, images) > most_s)
            images = rue_duel_shortest_images(duel, config);
        if (rue_duel_cost_s(duel, model, config, images) > most_s) continue;
        rue_duel_push_joint(duel, model, config, images);
        return true;
    }
    return false;
}

void rue_duel_push_next(struct rue_duel *duel, double most_s, bool far_off, size_t *audits)
{
    if (!push_again(duel, most_s) && !push_audit(duel, most_s, far_off, audits)) push_deciding(duel, most_s);
}
