#include "plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job_time.h"

uint64_t rue_plan_images(double stretch, const struct rue_config *config, uint64_t job_images)
{
    uint64_t floor_images = rue_job_floor_images(config, job_images);
    double images = stretch * (double)floor_images;
    if (floor_images >= job_images || !(images < (double)job_images)) return job_images;
    uint64_t batch = (uint64_t)config->value[RUE_BATCH_SIZE];
    uint64_t batches = (uint64_t)ceil(images / (double)batch);
    uint64_t job_batches = (job_images - 1) / batch + 1;
    if (batches >= job_batches) return job_images;
    batches += (job_batches - batches) % rue_job_volley_batches(config);
    return batches < job_batches ? batches * batch : job_images;
}

double rue_plan_trial_s(const struct rue_plan_scenario *scenario, const struct rue_config *config,
                        uint64_t images)
{
    uint64_t batch = (uint64_t)config->value[RUE_BATCH_SIZE];
    int workers = config->value[RUE_NUM_WORKERS];
    double one = scenario->loader.one_worker_images_per_s;
    double all = fmax(one, scenario->loader.all_workers_images_per_s);
    double rate = fmin(fmax(workers, 1) * one, all);
    double load_s = (double)images / rate, compute_s = (double)images * scenario->compute_s_per_image;
    if (workers == 0) return load_s + compute_s;
    double first = (double)(images < batch ? images : batch);
    return fmax(load_s, compute_s) +
           first / (config->value[RUE_PARALLELISM] == RUE_PARALLEL_SAMPLE ? rate : one);
}

/* One repeat of the configuration on every scenario. Not inlined: a compiler that fuses multiplications with
 * additions may do so differently in each copy, and all sums below have to be the same to the last bit. */
__attribute__((noinline)) static double config_s(const struct rue_plan_goal *goal,
                                                 const struct rue_config *config, double stretch)
{
    double sum = 0;
    for (size_t s = 0; s < goal->scenario_count; s++) {
        const struct rue_plan_scenario *scenario = &goal->scenarios[s];
        uint64_t images = rue_plan_images(stretch, config, scenario->job_images);
        sum += rue_plan_trial_s(scenario, config, images) + goal->trial_overhead_s;
    }
    return sum;
}

/* Of the shortest trials that there can be. */
static double least_stretch(const struct rue_plan_goal *goal)
{
    return goal->whole_jobs ? INFINITY : 1;
}

/* All trials on `space`. Adds up in grid order, as `thinned_s` does, so that both find the very same sum;
 * never falls as the stretch rises, because rounding a sum keeps the order of its terms. */
static double space_s(const struct rue_plan_goal *goal, const struct rue_space *space, double stretch)
{
    double sum = 0;
    for (size_t i = 0, size = rue_space_size(space); i < size; i++) {
        struct rue_config config = rue_space_at(space, i);
        sum += config_s(goal, &config, stretch);
    }
    return sum * goal->repeats;
}

/* The search over thinned grids for one length of trials. */
struct thinning {
    const struct rue_plan_goal *goal;
    double *config_s; /* [size of the whole space] one repeat of each configuration */
    double least_s;   /* the least of them */
    size_t most;      /* configurations of the largest grid that fits; 0: nothing fits */
    size_t best_size; /* of the grid that is taken */
    double best_evenness;
    int best_keep[RUE_KNOB_COUNT];
};

/* All trials on the thinned grid, from the table of the whole one. */
static double thinned_s(const struct thinning *thinning, const struct rue_space *thin)
{
    const struct rue_space *whole = thinning->goal->space;
    size_t offset[RUE_KNOB_COUNT][RUE_SPACE_VALUES_MAX], stride = 1;
    int at[RUE_KNOB_COUNT] = {0};
    for (int k = RUE_KNOB_COUNT; k-- > 0; stride *= (size_t)whole->count[k])
        for (int i = 0, j = 0; i < thin->count[k]; i++) {
            while (whole->values[k][j] != thin->values[k][i]) j++;
            offset[k][i] = (size_t)j * stride;
        }
    double sum = 0;
    for (;;) {
        size_t index = 0;
        for (int k = 0; k < RUE_KNOB_COUNT; k++) index += offset[k][at[k]];
        sum += thinning->config_s[index];
        int k = RUE_KNOB_COUNT;
        while (k-- > 0 && ++at[k] == thin->count[k]) at[k] = 0;
        if (k < 0) return sum * thinning->goal->repeats;
    }
}

/* The smallest share of its values that a knob keeps. */
static double evenness(const struct rue_space *space, const int keep[RUE_KNOB_COUNT])
{
    double least = 1;
    for (int k = 0; k < RUE_KNOB_COUNT; k++) least = fmin(least, (double)keep[k] / space->count[k]);
    return least;
}

static size_t kept_size(const int keep[RUE_KNOB_COUNT])
{
    size_t size = 1;
    for (int k = 0; k < RUE_KNOB_COUNT; k++) size *= (size_t)keep[k];
    return size;
}

/* Seconds that the budget has. */
static double time_of(const struct rue_plan_goal *goal)
{
    return goal->budget_s > 0 ? goal->budget_s : INFINITY;
}

/* Whether the limit of trials has room for so many configurations. */
static bool has_room(const struct rue_plan_goal *goal, size_t configs)
{
    size_t each = goal->scenario_count * (size_t)goal->repeats;
    return goal->budget_trials == 0 || configs <= goal->budget_trials / each;
}

static bool fits(const struct thinning *thinning, const int keep[RUE_KNOB_COUNT])
{
    if (!has_room(thinning->goal, kept_size(keep))) return false;
    double budget_s = time_of(thinning->goal);
    /* Most grids cost too much even if all their configurations were the cheapest one; the margin is for
     * rounding. */
    double least_s = (double)kept_size(keep) * thinning->least_s * thinning->goal->repeats;
    if (least_s > budget_s * 1.0001) return false;
    struct rue_space thin = rue_space_thin(thinning->goal->space, keep);
    return thinned_s(thinning, &thin) <= budget_s;
}

/* Finds the largest grid that fits. */
static void consider_size(struct thinning *thinning, const int keep[RUE_KNOB_COUNT])
{
    size_t size = kept_size(keep);
    if (size > thinning->most && fits(thinning, keep)) thinning->most = size;
}

/* Of the grids that fit and hold two thirds of the most, finds the one that is thinned most evenly. */
static void consider_shape(struct thinning *thinning, const int keep[RUE_KNOB_COUNT])
{
    size_t size = kept_size(keep);
    double even = evenness(thinning->goal->space, keep);
    if (3 * size < 2 * thinning->most || even < thinning->best_evenness) return;
    if (even == thinning->best_evenness && size <= thinning->best_size) return;
    if (!fits(thinning, keep)) return;
    thinning->best_size = size;
    thinning->best_evenness = even;
    memcpy(thinning->best_keep, keep, sizeof thinning->best_keep);
}

/* Walks over all combinations of keep counts, the largest first, which spares looking at many smaller ones.
 */
static void walk_grids(struct thinning *thinning,
                       void (*consider)(struct thinning *, const int keep[RUE_KNOB_COUNT]))
{
    int keep[RUE_KNOB_COUNT];
    memcpy(keep, thinning->goal->space->count, sizeof keep);
    for (;;) {
        consider(thinning, keep);
        int k = RUE_KNOB_COUNT;
        while (k-- > 0 && --keep[k] == 0) keep[k] = thinning->goal->space->count[k];
        if (k < 0) return;
    }
}

static void thin_to_fit(struct thinning *thinning, double stretch)
{
    const struct rue_plan_goal *goal = thinning->goal;
    thinning->most = thinning->best_size = 0;
    thinning->best_evenness = 0;
    thinning->least_s = INFINITY;
    for (size_t i = 0, size = rue_space_size(goal->space); i < size; i++) {
        struct rue_config config = rue_space_at(goal->space, i);
        thinning->config_s[i] = config_s(goal, &config, stretch);
        thinning->least_s = fmin(thinning->least_s, thinning->config_s[i]);
    }
    walk_grids(thinning, consider_size);
    if (thinning->most > 0) walk_grids(thinning, consider_shape);
}

/* The longest trials with which `space`, which fits with trials at their floor, still fits. */
static double longest_stretch(const struct rue_plan_goal *goal, const struct rue_space *space)
{
    double fits = 1, beyond = 1;
    for (size_t i = 0, size = rue_space_size(space); i < size; i++) {
        struct rue_config config = rue_space_at(space, i);
        for (size_t s = 0; s < goal->scenario_count; s++) {
            double job = (double)goal->scenarios[s].job_images;
            beyond = fmax(beyond, job / (double)rue_job_floor_images(&config, goal->scenarios[s].job_images));
        }
    }
    double budget_s = time_of(goal);
    if (space_s(goal, space, beyond) <= budget_s) return INFINITY;
    while (beyond - fits > 1e-3 * fits) {
        double middle = fits + (beyond - fits) / 2;
        if (space_s(goal, space, middle) <= budget_s)
            fits = middle;
        else
            beyond = middle;
    }
    return fits;
}

static void fill(const struct rue_plan_goal *goal, const struct rue_space *space, double stretch,
                 struct rue_plan *out)
{
    *out =
        (struct rue_plan){.space = *space, .stretch = stretch, .expected_s = space_s(goal, space, stretch)};
    for (size_t i = 0, size = rue_space_size(space); i < size; i++) {
        struct rue_config config = rue_space_at(space, i);
        for (size_t s = 0; s < goal->scenario_count; s++) {
            uint64_t job = goal->scenarios[s].job_images;
            out->trials += (size_t)goal->repeats;
            if (rue_plan_images(stretch, &config, job) >= job) out->full_trials += (size_t)goal->repeats;
        }
    }
}

static rue_status fail_too_small(const struct rue_plan_goal *goal, rue_error *error)
{
    const int keep[RUE_KNOB_COUNT] = {[0 ... RUE_KNOB_COUNT - 1] = 1};
    struct rue_space one = rue_space_thin(goal->space, keep);
    if (!has_room(goal, 1))
        return rue_fail(error, RUE_USAGE,
                        "a budget of %zu trials is too small: one configuration on every scenario takes %zu; "
                        "raise --budget, or lower --repeats",
                        goal->budget_trials, goal->scenario_count * (size_t)goal->repeats);
    double needed_s = space_s(goal, &one, least_stretch(goal));
    bool small = needed_s < 10;
    /* Rounded up: a budget of what the message says has to be enough. */
    return rue_fail(
        error, RUE_USAGE,
        "the budget of %g s is too small: one configuration on every scenario takes about %.*f s; raise "
        "--budget, or lower --images",
        goal->budget_s, small, small ? ceil(needed_s * 10) / 10 : ceil(needed_s));
}

static bool is_rate(double images_per_s)
{
    return isfinite(images_per_s) && images_per_s > 0;
}

static rue_status check_scenarios(const struct rue_plan_goal *goal, rue_error *error)
{
    if (goal->scenario_count == 0) return rue_fail(error, RUE_USAGE, "there is no scenario to plan for");
    for (size_t s = 0; s < goal->scenario_count; s++) {
        const struct rue_plan_scenario *scenario = &goal->scenarios[s];
        double one = scenario->loader.one_worker_images_per_s,
               all = scenario->loader.all_workers_images_per_s;
        if (!is_rate(one) || !is_rate(all))
            return rue_fail(
                error, RUE_RUNNER,
                "the load probes of scenario %zu make no sense: %g images/s with one worker, %g with all",
                s + 1, one, all);
        if (!isfinite(scenario->compute_s_per_image) || scenario->compute_s_per_image < 0)
            return rue_fail(error, RUE_RUNNER,
                            "the compute probe of scenario %zu makes no sense: %g s for an image", s + 1,
                            scenario->compute_s_per_image);
        if (scenario->job_images == 0)
            return rue_fail(error, RUE_USAGE, "the job of scenario %zu has no images", s + 1);
    }
    return RUE_OK;
}

static rue_status check(const struct rue_plan_goal *goal, rue_error *error)
{
    if (isnan(goal->budget_s) || goal->budget_s < 0)
        return rue_fail(error, RUE_USAGE, "a budget of %g s is none; give a positive time, or 0 for no limit",
                        goal->budget_s);
    if (!isfinite(goal->trial_overhead_s) || goal->trial_overhead_s < 0)
        return rue_fail(error, RUE_USAGE, "an overhead of %g s a trial makes no sense",
                        goal->trial_overhead_s);
    if (goal->repeats < 1)
        return rue_fail(error, RUE_USAGE, "%d repeats are too few; at least 1 is needed", goal->repeats);
    size_t size = rue_space_size(goal->space);
    if (size == 0) return rue_fail(error, RUE_USAGE, "the space holds no configuration");
    if (size > RUE_PLAN_CONFIGS_MAX)
        return rue_fail(
            error, RUE_USAGE,
            "the space holds %zu configurations, and at most %d can all be tried; give fewer values", size,
            RUE_PLAN_CONFIGS_MAX);
    return check_scenarios(goal, error);
}

rue_status rue_plan_make(const struct rue_plan_goal *goal, struct rue_plan *out, rue_error *error)
{
    rue_status status = check(goal, error);
    if (status != RUE_OK) return status;
    double budget_s = time_of(goal);
    size_t size = rue_space_size(goal->space);
    if (has_room(goal, size) && space_s(goal, goal->space, INFINITY) <= budget_s) {
        fill(goal, goal->space, INFINITY, out);
        return RUE_OK;
    }
    struct thinning shortest = {.goal = goal, .config_s = calloc(size, sizeof(double))};
    if (!shortest.config_s) return rue_fail_memory(error, "the plan", size * sizeof(double));
    thin_to_fit(&shortest, INFINITY);
    struct thinning whole = shortest;
    thin_to_fit(&shortest, least_stretch(goal));
    free(shortest.config_s);
    if (shortest.best_size == 0) return fail_too_small(goal, error);
    bool prefer_whole = 3 * whole.best_size >= 2 * shortest.best_size;
    struct rue_space space = rue_space_thin(goal->space, prefer_whole ? whole.best_keep : shortest.best_keep);
    fill(goal, &space, prefer_whole ? INFINITY : longest_stretch(goal, &space), out);
    return RUE_OK;
}
