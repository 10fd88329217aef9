/* The joint trials that a duel asks for. */
#include <math.h>

#include "duel.h"
#include "random.h"

/* TELLING: cells that are looked at closely. FINALISTS: configurations that are measured on every model. */
enum { LENGTHS = 3, FINALISTS = 3, TELLING = 12, AUDITS_LEAST = 3, AUDIT_TRIES = 24 };

static const struct rue_trial_length lengths[LENGTHS] = {{0.1, 2, 4}, {0.3, 2, 4}, {1, 1, 1}};
static const double verify_margin = 1.15;    /* of what the last trials may cost more than expected */
static const double rival_ratio = 0.01;      /* more than the leader's: it is verified, too */
static const double audit_share = 0.1;       /* of the joint trials */
static const double far_off_audits = 0.5;    /* of them where predictions are far off */
static const double baselines_share = 0.1;   /* of the budget, for whole jobs of baselines */
static const double audit_cost_share = 0.01; /* of the budget: no audit costs more */
static const double least_gain = 1e-10;      /* of the variance of a mean regret: less is nothing */

static bool is_excluded(const struct rue_duel *duel, size_t config)
{
    return duel->forecast->excluded[config];
}

static uint64_t shortest(const struct rue_duel *duel, size_t config)
{
    return rue_trial_length_images(&lengths[0], &duel->setup, config);
}

/* ---- verification ---- */

/* A configuration on the models where it did not run at all, or not the whole job. */
static bool is_missing(const struct rue_duel *duel, size_t model, size_t config, bool whole)
{
    struct rue_forecast_cell cell = rue_forecast_cell(duel->forecast, model, config);
    return whole ? !cell.full : cell.joint_trials == 0;
}

static double missing_s(const struct rue_duel *duel, size_t config, bool whole, size_t *trials)
{
    uint64_t images = whole ? duel->setup.job_images : shortest(duel, config);
    double sum = 0;
    for (size_t m = 0; m < duel->setup.scenario_count; m++) {
        if (!is_missing(duel, m, config, whole)) continue;
        sum += rue_duel_cost_s(duel, m, config, images);
        ++*trials;
    }
    return sum;
}

static void push_missing(struct rue_duel *duel, const size_t *configs, size_t count, bool whole)
{
    for (size_t m = 0; m < duel->setup.scenario_count; m++)
        for (size_t i = 0; i < count; i++)
            if (is_missing(duel, m, configs[i], whole))
                rue_duel_push_joint(duel, m, configs[i],
                                    whole ? duel->setup.job_images : shortest(duel, configs[i]));
}

size_t rue_duel_unseen(const struct rue_duel *duel, size_t config)
{
    size_t count = 0;
    for (size_t m = 0; m < duel->setup.scenario_count; m++) count += is_missing(duel, m, config, false);
    return count;
}

double rue_duel_verify_s(const struct rue_duel *duel, size_t config)
{
    size_t trials = 0;
    return verify_margin * missing_s(duel, config, false, &trials);
}

void rue_duel_verify(struct rue_duel *duel, size_t config)
{
    push_missing(duel, &config, 1, false);
}

/* The leader; where the budget no longer holds its trials and nothing else could be recommended, the best of
 * those that it holds. */
static size_t find_candidate(const struct rue_duel *duel)
{
    size_t leader = rue_standing_leader(duel->standing), best = SIZE_MAX, trials = 0;
    double left_s = rue_duel_left_s(duel);
    if (missing_s(duel, leader, false, &trials) <= left_s || rue_standing_is_any_verified(duel->standing))
        return leader;
    for (size_t c = 0; c < duel->setup.config_count; c++)
        if (!duel->forecast->out[c] && missing_s(duel, c, false, &trials) <= left_s &&
            (best == SIZE_MAX ||
             rue_standing_regret(duel->standing, c) < rue_standing_regret(duel->standing, best)))
            best = c;
    return best == SIZE_MAX ? leader : best;
}

void rue_duel_verify_best(struct rue_duel *duel, double reserve_s)
{
    size_t chosen[FINALISTS], count = 0, trials = 0;
    double most = rue_standing_regret(duel->standing, rue_standing_leader(duel->standing)) + rival_ratio;
    double rest_s = rue_duel_left_s(duel) - reserve_s;
    while (count < FINALISTS) {
        size_t config = count == 0 ? find_candidate(duel) : rue_duel_next_best(duel, chosen, count);
        if (config == SIZE_MAX) break;
        rest_s -= verify_margin * missing_s(duel, config, false, &trials);
        bool room = rest_s >= 0 && !rue_duel_lacks_trials(duel, trials);
        if (count > 0 && (!room || rue_standing_regret(duel->standing, config) > most)) break;
        chosen[count++] = config;
    }
    push_missing(duel, chosen, count, false);
}

bool rue_duel_confirm_best(struct rue_duel *duel, double most_s)
{
    size_t chosen[FINALISTS], count = 0, trials = 0;
    for (; count < FINALISTS; count++) {
        chosen[count] = rue_duel_next_best(duel, chosen, count);
        if (chosen[count] == SIZE_MAX) break;
        most_s -= missing_s(duel, chosen[count], true, &trials);
    }
    if (most_s < 0 || rue_duel_lacks_trials(duel, trials)) return false;
    push_missing(duel, chosen, count, true);
    return true;
}

/* ---- baselines ---- */

/* The first of the baselines whose whole jobs, and those of all behind it, are a small part of the budget. */
static size_t first_baseline(const struct rue_duel *duel)
{
    const struct rue_strategy_setup *setup = &duel->setup;
    size_t first = setup->baseline_count, trials = 0;
    double cost = 0;
    for (; first > 0; first--, trials += setup->scenario_count) {
        for (size_t m = 0; m < setup->scenario_count; m++)
            cost += rue_duel_cost_s(duel, m, setup->baselines[first - 1], setup->job_images);
        if (cost > baselines_share * setup->budget_s) break;
        if (setup->budget_trials &&
            (double)(trials + setup->scenario_count) > baselines_share * (double)setup->budget_trials)
            break;
    }
    return first;
}

/* What is compared, `at` by `at`: the leader, then the baselines from `first` on; SIZE_MAX: it is not. */
static size_t compared(const struct rue_duel *duel, size_t first, size_t at)
{
    size_t leader = rue_standing_leader(duel->standing);
    size_t config = at == 0 ? leader : duel->setup.baselines[first + at - 1];
    return at > 0 && (config == leader || is_excluded(duel, config)) ? SIZE_MAX : config;
}

double rue_duel_baselines_s(const struct rue_duel *duel, size_t *trials)
{
    size_t first = first_baseline(duel), count = duel->setup.baseline_count - first;
    double sum = 0;
    for (size_t i = 0; count > 0 && i <= count; i++) {
        size_t config = compared(duel, first, i);
        if (config != SIZE_MAX) sum += verify_margin * missing_s(duel, config, true, trials);
    }
    return sum;
}

void rue_duel_push_baselines(struct rue_duel *duel)
{
    size_t first = first_baseline(duel), count = duel->setup.baseline_count - first, trials = 0;
    double needed_s = rue_duel_baselines_s(duel, &trials) / verify_margin;
    if (count == 0 || needed_s > rue_duel_left_s(duel) || rue_duel_lacks_trials(duel, trials)) return;
    for (size_t m = 0; m < duel->setup.scenario_count; m++)
        for (size_t i = 0; i <= count; i++) {
            size_t at = m % 2 ? count - i : i; /* drift favours none */
            size_t config = compared(duel, first, at);
            if (config != SIZE_MAX && is_missing(duel, m, config, true))
                rue_duel_push_joint(duel, m, config, duel->setup.job_images);
        }
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
    for (size_t i = duel->setup.whole_jobs ? LENGTHS - 1 : 0; i < LENGTHS; i++) {
        uint64_t images = rue_trial_length_images(&lengths[i], &duel->setup, config);
        struct option option = {model, config, images, -INFINITY};
        double gain = rue_forecast_gain(duel->forecast, model, config, images),
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
    for (size_t i = 0; i < setup->scenario_count * setup->config_count; i++) {
        size_t model = i / setup->config_count, config = i % setup->config_count;
        if (is_excluded(duel, config)) continue;
        double with = rue_forecast_covariance(duel->forecast, model, config);
        double rate = with * with / rue_duel_cost_s(duel, model, config, shortest(duel, config));
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
    size_t leader = rue_standing_leader(duel->standing), cells[TELLING],
           other = rue_standing_challenger(duel->standing, rue_random_next(&duel->seed));
    struct option best = {.rate = -INFINITY};
    if (other == leader) return;
    duel->status = rue_forecast_compare(duel->forecast, leader, other,
                                        rue_standing_weights(duel->standing, other), &duel->error);
    size_t count = duel->status == RUE_OK ? list_telling(duel, cells) : 0;
    for (size_t i = 0; i < count; i++) {
        struct option option = best_length(duel, cells[i] / duel->setup.config_count,
                                           cells[i] % duel->setup.config_count, most_s);
        if (option.rate > best.rate) best = option;
    }
    if (!isinf(best.rate)) rue_duel_push_joint(duel, best.model, best.config, best.images);
}

/* What seems to be disturbed is tried again, once: where that says the same, the belief was off. */
static bool push_again(struct rue_duel *duel, double most_s)
{
    const struct rue_ask_queue *history = &duel->history;
    if (history->count == 0 || !rue_belief_is_last_disturbed(duel->forecast->belief)) return false;
    struct rue_ask last = history->at[history->count - 1];
    if (rue_ask_queue_count_alike(history, &last) > 1 || is_excluded(duel, last.config) ||
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
    most_s = fmin(most_s, audit_cost_share * duel->setup.budget_s);
    for (int try = 0; try < AUDIT_TRIES; try++) {
        size_t model = (size_t)rue_random_below(&duel->seed, duel->setup.scenario_count),
               config = (size_t)rue_random_below(&duel->seed, duel->setup.config_count);
        uint64_t images = duel->setup.job_images;
        bool tried = far_off ? !is_missing(duel, model, config, false)
                             : rue_duel_unseen(duel, config) < duel->setup.scenario_count;
        if ((tried && (far_off || try < AUDIT_TRIES / 2)) || is_excluded(duel, config)) continue;
        if (rue_duel_cost_s(duel, model, config, images) > most_s) images = shortest(duel, config);
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
