#include "belief.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "belief_scales.h"
#include "random.h"
#include "triangle.h"

static const double drift_sd = 0.02, drift_s = 1000;
static const double parameter_sd = 0.02; /* more than trials leave of the parameters: no loader is just so */
static const double disturbed_share = 0.04, disturbed_sd = 0.4;

enum { N = RUE_BELIEF_TRIALS, ROUNDS = 3, AUDITED_LEAST = 3, FEW_TO_BLAME = 6 };

struct rue_belief {
    struct rue_belief_fields *fields;
    size_t parameters;
    double *covariance, *root; /* of the parameters; root: L with L L' = covariance */
    rue_status (*stop)(void);
    size_t count;
    struct rue_belief_trial trials[N];              /* the first `count`, here and below */
    double pairs[N * (N + 1) / 2][RUE_SCALE_COUNT]; /* covariances for scales of 1 */
    size_t own[N];                                  /* those of one configuration; or which are acquitted */
    double disturbed[N];                            /* probability */
    double solved[N];                               /* K^-1 times the logarithms of measured over predicted */
    double decided[N];      /* K^-1 times the covariances of the trials with what is to be decided */
    double factor[N * N];   /* L of K, for usual scales */
    double spare[N * N];    /* K^-1, or L for other scales */
    double together[N * N]; /* L of what drift trials share; or a part of K^-1 */
    double log_weight[RUE_BELIEF_HYPOTHESES], weight[RUE_BELIEF_HYPOTHESES];
    struct rue_belief_scales usual;
    struct rue_belief_audit audit;
};

/* ---- the process ---- */

double rue_belief_drift(const struct rue_belief_trial *a, const struct rue_belief_trial *b)
{
    if (rue_speed_differs(a->speed, b->speed)) return 0;
    return drift_sd * drift_sd * exp(-fabs(a->seconds - b->seconds) / drift_s);
}

static size_t parameter_of(const struct rue_belief_point *point, size_t slope)
{
    return slope < RUE_BELIEF_OF_LOADER ? slope : slope + 2 * point->consumer;
}

/* The slopes that there are parameters for. */
static size_t slopes_of(const struct rue_belief *belief, const struct rue_belief_point *point)
{
    bool unknown = parameter_of(point, RUE_BELIEF_OF_LOADER) < belief->parameters;
    return unknown ? RUE_BELIEF_SLOPES : RUE_BELIEF_OF_LOADER;
}

static double slope_sum(const struct rue_belief *belief, const double *parameters,
                        const struct rue_belief_point *point)
{
    double sum = 0;
    for (size_t s = 0; s < slopes_of(belief, point); s++)
        sum += point->slopes[s] * parameters[parameter_of(point, s)];
    return sum;
}

/* Of what two times are off by, but for drift and noise; for scales of 1. */
static void covariance(const struct rue_belief *belief, const struct rue_belief_point *one,
                       const struct rue_belief_point *other, double out[RUE_SCALE_COUNT])
{
    memset(out, 0, RUE_SCALE_COUNT * sizeof *out);
    rue_belief_fields_covariance(belief->fields, &one->place, &other->place, out);
    for (size_t s = 0; s < slopes_of(belief, one); s++) {
        const double *row = belief->covariance + parameter_of(one, s) * belief->parameters;
        if (one->slopes[s] != 0) out[RUE_SCALE_FIXED] += one->slopes[s] * slope_sum(belief, row, other);
    }
}

static double scaled(const double covariances[RUE_SCALE_COUNT], const struct rue_belief_scales *scales)
{
    double sum = 0;
    for (int s = 0; s < RUE_SCALE_COUNT; s++)
        sum += scales->of_fields[s] * scales->of_fields[s] * covariances[s];
    return sum;
}

static double noise_of(const struct rue_belief *belief, size_t trial, const struct rue_belief_scales *scales)
{
    double noise = scales->noise * scales->noise * belief->trials[trial].noise, p = belief->disturbed[trial];
    return 1 / ((1 - p) / noise + p / (noise + disturbed_sd * disturbed_sd));
}

static const double *pair_of(const struct rue_belief *belief, size_t i, size_t j)
{
    return belief->pairs[i * (i + 1) / 2 + j];
}

/* L of K for those scales into `out`; false where there is none. */
static bool factorise_for(const struct rue_belief *belief, const struct rue_belief_scales *scales,
                          double *out)
{
    size_t count = belief->count;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j <= i; j++) out[i * N + j] = scaled(pair_of(belief, i, j), scales);
        out[i * N + i] += noise_of(belief, i, scales);
    }
    return rue_triangle_factorise(out, N, count);
}

static rue_status fail_factor(const struct rue_belief *belief, rue_error *error)
{
    return rue_fail(error, RUE_INTERNAL, "the covariance of %zu trials is none", belief->count);
}

static rue_status check_stop(const struct rue_belief *belief, rue_error *error)
{
    rue_status status = belief->stop ? belief->stop() : RUE_OK;
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "interrupted");
}

static void copy_ratios(const struct rue_belief *belief, double *out)
{
    for (size_t i = 0; i < belief->count; i++) out[i] = belief->trials[i].log_ratio;
}

/* K for the usual scales, factorised, and what follows from it. */
static rue_status settle(struct rue_belief *belief, rue_error *error)
{
    if (!factorise_for(belief, &belief->usual, belief->factor)) return fail_factor(belief, error);
    copy_ratios(belief, belief->solved);
    rue_triangle_solve(belief->factor, N, belief->count, belief->solved);
    return RUE_OK;
}

/* ---- what trials tell of the scales, and of each other ---- */

static rue_status weigh_hypotheses(struct rue_belief *belief, rue_error *error)
{
    size_t count = belief->count;
    double most = -INFINITY, sum = 0, *rest = belief->solved;
    for (size_t h = 0; h < RUE_BELIEF_HYPOTHESES; h++) {
        struct rue_belief_scales scales = rue_belief_scales_of(h);
        rue_status status = check_stop(belief, error);
        if (status != RUE_OK) return status;
        double log_likelihood = -INFINITY;
        if (count == 0) {
            log_likelihood = 0;
        } else if (factorise_for(belief, &scales, belief->spare)) {
            copy_ratios(belief, rest);
            rue_triangle_solve_lower(belief->spare, N, count, rest);
            log_likelihood = -0.5 * rue_dot(rest, rest, count);
            for (size_t i = 0; i < count; i++) log_likelihood -= log(belief->spare[i * N + i]);
        }
        belief->log_weight[h] = log_likelihood + rue_belief_scales_log_prior(&scales);
        most = fmax(most, belief->log_weight[h]);
    }
    if (!isfinite(most)) return fail_factor(belief, error);
    for (size_t h = 0; h < RUE_BELIEF_HYPOTHESES; h++)
        sum += belief->weight[h] = exp(belief->log_weight[h] - most);
    for (size_t h = 0; h < RUE_BELIEF_HYPOTHESES; h++) belief->weight[h] /= sum;
    belief->usual = rue_belief_scales_mean(belief->weight);
    return RUE_OK;
}

/* How probable it is that a trial was disturbed that lies so far `off` where nothing is expected but
 * `variance` without its noise. */
static double disturbance(const struct rue_belief *belief, const struct rue_belief_trial *trial, double off,
                          double variance)
{
    double calm = variance + belief->usual.noise * belief->usual.noise * trial->noise,
           wild = calm + disturbed_sd * disturbed_sd;
    double log_odds = log(disturbed_share / (1 - disturbed_share)) - 0.5 * log(wild / calm) -
                      0.5 * off * off * (1 / wild - 1 / calm);
    return 1 / (1 + exp(-fmax(-30, fmin(30, log_odds))));
}

/* Of each trial, by how far off it is where it is left out. */
static void blame(struct rue_belief *belief)
{
    for (size_t i = 0, n = belief->count; i < n; i++) {
        double variance = 1 / belief->spare[i * N + i], off = belief->solved[i] * variance;
        belief->disturbed[i] = disturbance(belief, &belief->trials[i], off,
                                           fmax(variance - noise_of(belief, i, &belief->usual), 0));
    }
}

/* Where most trials of a configuration seem to be disturbed, two of them at least, it is the belief that is
 * off.
 */
static void acquit(struct rue_belief *belief)
{
    size_t n = belief->count;
    for (size_t i = 0; i < n; i++) {
        size_t all = 0, disturbed = 0;
        for (size_t j = 0; j < n; j++) {
            if (belief->trials[j].point.place.config != belief->trials[i].point.place.config) continue;
            all++;
            disturbed += belief->disturbed[j] > 0.5;
        }
        belief->own[i] = disturbed >= 2 && 2 * disturbed > all;
    }
    for (size_t i = 0; i < n; i++)
        if (belief->own[i]) belief->disturbed[i] = 0;
}

bool rue_belief_is_last_disturbed(const struct rue_belief *belief)
{
    return belief->count > 0 && belief->disturbed[belief->count - 1] > 0.5;
}

/* The trials of a configuration, `own`, are told by all others: how far off their mean is, in standard
 * deviations. */
static double left_out(struct rue_belief *belief, const size_t *own, size_t count)
{
    double *block = belief->together, rest[N], ones[N], sum = 0, variance = 0;
    for (size_t a = 0; a < count; a++) {
        for (size_t b = 0; b <= a; b++) block[a * count + b] = belief->spare[own[a] * N + own[b]];
        rest[a] = belief->solved[own[a]];
        ones[a] = 1;
    }
    if (!rue_triangle_factorise(block, count, count)) return 0;
    rue_triangle_solve(block, count, count, rest);
    rue_triangle_solve(block, count, count, ones);
    for (size_t a = 0; a < count; a++) sum += rest[a], variance += ones[a];
    return sum / sqrt(variance);
}

/* Each configuration counts once: many trials of one tell no more of how far predictions are off. */
static void audit(struct rue_belief *belief)
{
    double sum = 0;
    belief->audit = (struct rue_belief_audit){.ratio = 1};
    for (size_t i = 0; i < belief->count; i++) {
        size_t config = belief->trials[i].point.place.config, count = 0;
        for (size_t j = 0; j < belief->count; j++)
            if (belief->trials[j].point.place.config == config) belief->own[count++] = j;
        if (belief->own[0] == i) {
            double off = left_out(belief, belief->own, count);
            sum += off * off;
            belief->audit.configs++;
        }
    }
    if (belief->audit.configs >= AUDITED_LEAST)
        belief->audit.ratio = sqrt(sum / (double)belief->audit.configs);
}

rue_status rue_belief_learn(struct rue_belief *belief, rue_error *error)
{
    if (belief->count == 0) return RUE_OK;
    rue_status status = weigh_hypotheses(belief, error);
    for (int round = 0; status == RUE_OK && round < ROUNDS; round++) {
        status = settle(belief, error);
        if (status != RUE_OK) break;
        rue_triangle_invert(belief->factor, N, belief->count, belief->spare);
        if (round + 1 == ROUNDS) break;
        blame(belief);
        acquit(belief);
    }
    if (status == RUE_OK) audit(belief);
    return status;
}

struct rue_belief_audit rue_belief_audit(const struct rue_belief *belief)
{
    return belief->audit;
}

/* ---- trials ---- */

size_t rue_belief_trials(const struct rue_belief *belief)
{
    return belief->count;
}

void rue_belief_add(struct rue_belief *belief, const struct rue_belief_trial *trial)
{
    size_t count = belief->count;
    if (count >= N) return;
    double mean, variance;
    rue_belief_expect(belief, &trial->point, &mean, &variance);
    belief->disturbed[count] = count < FEW_TO_BLAME ? 0
                                                    : disturbance(belief, trial, trial->log_ratio - mean,
                                                                  variance + rue_belief_drift(trial, trial));
    belief->trials[count] = *trial;
    for (size_t j = 0; j <= count; j++) {
        double *pair = belief->pairs[count * (count + 1) / 2 + j];
        covariance(belief, &trial->point, &belief->trials[j].point, pair);
        pair[RUE_SCALE_FIXED] += rue_belief_drift(trial, &belief->trials[j]);
    }
    belief->count++;
    if (settle(belief, NULL) != RUE_OK) belief->count--; /* the rows before are as they were */
}

/* ---- what is believed ---- */

/* The covariances of a point with all trials, for those scales, into `out` [count]. */
static void covariances(const struct rue_belief *belief, const struct rue_belief_point *point,
                        const struct rue_belief_scales *scales, double *out)
{
    double parts[RUE_SCALE_COUNT];
    for (size_t i = 0; i < belief->count; i++) {
        covariance(belief, point, &belief->trials[i].point, parts);
        out[i] = scaled(parts, scales);
    }
}

void rue_belief_expect(const struct rue_belief *belief, const struct rue_belief_point *point, double *mean,
                       double *variance)
{
    double parts[RUE_SCALE_COUNT], with[N];
    covariance(belief, point, point, parts);
    *mean = 0;
    *variance = scaled(parts, &belief->usual);
    if (belief->count == 0) return;
    covariances(belief, point, &belief->usual, with);
    *mean = rue_dot(with, belief->solved, belief->count);
    rue_triangle_solve_lower(belief->factor, N, belief->count, with);
    *variance = fmax(0, *variance - rue_dot(with, with, belief->count));
}

/* ---- states: the parameters less what predictions are made with, then the values of the fields ---- */

size_t rue_belief_state_size(const struct rue_belief *belief)
{
    return belief->parameters + rue_belief_fields_size(belief->fields);
}

double rue_belief_at(const struct rue_belief *belief, const double *state,
                     const struct rue_belief_point *point)
{
    return slope_sum(belief, state, point) +
           rue_belief_fields_at(belief->fields, state + belief->parameters, &point->place);
}

/* Adds the covariances of everything with the sum of weights[i] * points[i], before any trial. */
static rue_status spread(const struct rue_belief *belief, const struct rue_belief_scales *scales,
                         const struct rue_belief_point *const *points, const double *weights, size_t count,
                         double *state, rue_error *error)
{
    const struct rue_belief_place **places = malloc((count + 1) * sizeof *places);
    double *sums = calloc(belief->parameters + 1, sizeof *sums);
    if (!places || !sums) {
        free(places);
        free(sums);
        return rue_fail_memory(error, "beliefs", count * sizeof *places);
    }
    for (size_t i = 0; i < count; i++) {
        places[i] = &points[i]->place;
        for (size_t s = 0; s < slopes_of(belief, points[i]); s++)
            sums[parameter_of(points[i], s)] += weights[i] * points[i]->slopes[s];
    }
    for (size_t p = 0; p < belief->parameters; p++)
        state[p] += rue_dot(belief->covariance + p * belief->parameters, sums, belief->parameters);
    rue_belief_fields_spread(belief->fields, scales->of_fields, places, weights, count,
                             state + belief->parameters);
    free(places);
    free(sums);
    return RUE_OK;
}

/* The same with the trials. */
static rue_status spread_trials(const struct rue_belief *belief, const struct rue_belief_scales *scales,
                                const double *weights, double *state, rue_error *error)
{
    const struct rue_belief_point *points[RUE_BELIEF_TRIALS];
    for (size_t i = 0; i < belief->count; i++) points[i] = &belief->trials[i].point;
    return spread(belief, scales, points, weights, belief->count, state, error);
}

rue_status rue_belief_mean(const struct rue_belief *belief, double *state, rue_error *error)
{
    memset(state, 0, rue_belief_state_size(belief) * sizeof *state);
    return spread_trials(belief, &belief->usual, belief->solved, state, error);
}

rue_status rue_belief_direct(struct rue_belief *belief, const struct rue_belief_point *const *points,
                             const double *weights, size_t count, double *state, rue_error *error)
{
    memset(state, 0, rue_belief_state_size(belief) * sizeof *state);
    rue_status status = spread(belief, &belief->usual, points, weights, count, state, error);
    if (status != RUE_OK || belief->count == 0) return status;
    for (size_t i = 0; i < belief->count; i++)
        belief->decided[i] = -rue_belief_at(belief, state, &belief->trials[i].point);
    rue_triangle_solve(belief->factor, N, belief->count, belief->decided);
    return spread_trials(belief, &belief->usual, belief->decided, state, error);
}

/* Trials share the machine's drift, so one that follows soon after another adds less. */
double rue_belief_gain(const struct rue_belief *belief, const double *state,
                       const struct rue_belief_trial *trial)
{
    double parts[RUE_SCALE_COUNT], with[N], decided = rue_belief_at(belief, state, &trial->point);
    covariance(belief, &trial->point, &trial->point, parts);
    double variance = scaled(parts, &belief->usual) + rue_belief_drift(trial, trial) +
                      belief->usual.noise * belief->usual.noise * trial->noise;
    if (belief->count > 0) covariances(belief, &trial->point, &belief->usual, with);
    for (size_t i = 0; i < belief->count; i++) {
        double more = rue_belief_drift(trial, &belief->trials[i]);
        with[i] += more;
        decided += more * belief->decided[i];
    }
    if (belief->count > 0) rue_triangle_solve_lower(belief->factor, N, belief->count, with);
    variance -= belief->count > 0 ? rue_dot(with, with, belief->count) : 0;
    return decided * decided / fmax(variance, 1e-12);
}

/* ---- draws ---- */

/* What draws of one call share. */
struct draws {
    uint64_t seed;
    double *state;  /* [state size] */
    double *normal; /* [parameters], and [N] after them */
    double weights[N];
};

/* One possible truth before any trial, and what trials would tell of it, less what they told: into
 * `weights`. */
static void draw_before(struct rue_belief *belief, const struct rue_belief_scales *scales,
                        struct draws *draws)
{
    size_t n = belief->parameters, count = belief->count;
    rue_random_normals(&draws->seed, draws->normal, n);
    for (size_t p = 0; p < n; p++) draws->state[p] = rue_dot(belief->root + p * n, draws->normal, p + 1);
    rue_belief_fields_draw(belief->fields, scales->of_fields, &draws->seed, draws->state + n);
    rue_random_normals(&draws->seed, draws->normal, count);
    for (size_t i = 0; i < count; i++) {
        const struct rue_belief_trial *trial = &belief->trials[i];
        double noise = sqrt(noise_of(belief, i, scales)) * rue_random_normal(&draws->seed);
        draws->weights[i] = trial->log_ratio - rue_belief_at(belief, draws->state, &trial->point) -
                            rue_dot(belief->together + i * N, draws->normal, i + 1) - noise;
    }
}

static rue_status draw_all(struct rue_belief *belief, size_t count, bool usual, struct draws *draws,
                           void (*take)(void *context, size_t index, const double *state), void *context,
                           rue_error *error)
{
    size_t hypothesis = 0, last = SIZE_MAX;
    double cumulative = belief->weight[0];
    rue_status status = RUE_OK;
    for (size_t d = 0; status == RUE_OK && d < count; d++) {
        while (hypothesis + 1 < RUE_BELIEF_HYPOTHESES && cumulative * (double)count < (double)d + 0.5)
            cumulative += belief->weight[++hypothesis];
        struct rue_belief_scales scales = usual ? belief->usual : rue_belief_scales_of(hypothesis);
        if (!usual && hypothesis != last && !factorise_for(belief, &scales, belief->spare))
            return fail_factor(belief, error);
        last = hypothesis;
        draw_before(belief, &scales, draws);
        rue_triangle_solve(usual ? belief->factor : belief->spare, N, belief->count, draws->weights);
        if (status == RUE_OK) status = spread_trials(belief, &scales, draws->weights, draws->state, error);
        if (status == RUE_OK) take(context, d, draws->state);
    }
    return status;
}

rue_status rue_belief_draw(struct rue_belief *belief, size_t count, bool usual, uint64_t seed,
                           void (*take)(void *context, size_t index, const double *state), void *context,
                           rue_error *error)
{
    size_t size = rue_belief_state_size(belief);
    struct draws draws = {.seed = seed, .state = malloc((size + belief->parameters + N) * sizeof(double))};
    if (!draws.state) return rue_fail_memory(error, "draws", size * sizeof(double));
    draws.normal = draws.state + size;
    for (size_t i = 0; i < belief->count; i++)
        for (size_t j = 0; j <= i; j++)
            belief->together[i * N + j] =
                rue_belief_drift(&belief->trials[i], &belief->trials[j]) + (i == j ? 1e-12 : 0);
    rue_status status = rue_triangle_factorise(belief->together, N, belief->count)
                            ? draw_all(belief, count, usual, &draws, take, context, error)
                            : fail_factor(belief, error);
    free(draws.state);
    return status;
}

/* ---- life ---- */

rue_status rue_belief_open(const struct rue_belief_setup *setup, struct rue_belief **out, rue_error *error)
{
    size_t n = setup->parameter_count;
    struct rue_belief *belief = calloc(1, sizeof *belief);
    if (!belief) return rue_fail_memory(error, "beliefs", sizeof *belief);
    belief->parameters = n;
    belief->stop = setup->stop;
    belief->covariance = calloc(n * n, sizeof *belief->covariance);
    belief->root = calloc(n * n, sizeof *belief->root);
    rue_status status = belief->covariance && belief->root
                            ? RUE_OK
                            : rue_fail_memory(error, "beliefs", n * n * sizeof(double));
    if (status == RUE_OK)
        status = rue_belief_fields_open(setup->model_count, setup->configs, setup->config_count,
                                        &belief->fields, error);
    if (status == RUE_OK) {
        for (size_t i = 0; i < n * n; i++)
            belief->root[i] = belief->covariance[i] =
                setup->covariance[i] + (i % (n + 1) == 0 ? parameter_sd * parameter_sd : 0);
        if (!rue_triangle_factorise(belief->root, n, n))
            status = rue_fail(error, RUE_INTERNAL, "the covariance of the parameters is none");
    }
    if (status == RUE_OK) status = weigh_hypotheses(belief, error);
    if (status != RUE_OK) return rue_belief_close(belief), status;
    belief->audit.ratio = 1;
    *out = belief;
    return RUE_OK;
}

void rue_belief_close(struct rue_belief *belief)
{
    if (!belief) return;
    rue_belief_fields_close(belief->fields);
    free(belief->covariance);
    free(belief->root);
    free(belief);
}
