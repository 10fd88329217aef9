#include "plan.h"

#include <assert.h>
#include <math.h>
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

/* What it costs never falls as the stretch rises, because rounding a sum keeps the order of its terms. Not
 * inlined: a compiler that fuses multiplications with additions may do so differently in each copy, and what
 * fits has to fit to the last bit. */
__attribute__((noinline)) struct rue_plan rue_plan_on(const struct rue_plan_goal *goal,
                                                      const struct rue_space *space, double stretch)
{
    struct rue_plan plan = {.space = *space, .stretch = stretch};
    for (size_t i = 0, size = rue_space_size(space); i < size; i++) {
        struct rue_config config = rue_space_at(space, i);
        for (size_t s = 0; s < goal->scenario_count; s++) {
            const struct rue_plan_scenario *scenario = &goal->scenarios[s];
            uint64_t images = rue_plan_images(stretch, &config, scenario->job_images);
            plan.expected_s += rue_plan_trial_s(scenario, &config, images) + goal->trial_overhead_s;
            plan.trials += (size_t)goal->repeats;
            if (images >= scenario->job_images) plan.full_trials += (size_t)goal->repeats;
        }
    }
    plan.expected_s *= goal->repeats;
    return plan;
}

static bool fits(const struct rue_plan_goal *goal, const struct rue_space *space, double stretch)
{
    size_t each = goal->scenario_count * (size_t)goal->repeats;
    if (goal->budget_trials > 0 && rue_space_size(space) > goal->budget_trials / each) return false;
    return goal->budget_s == 0 || rue_plan_on(goal, space, stretch).expected_s <= goal->budget_s;
}

/* Takes one value after the other, each of the knob that keeps the largest share of its values then: a knob
 * that kept a single value would say nothing about it. False where not even one configuration fits. */
static bool thin_to_fit(const struct rue_plan_goal *goal, double stretch, struct rue_space *out)
{
    int keep[RUE_KNOB_COUNT];
    memcpy(keep, goal->space->count, sizeof keep);
    for (;;) {
        *out = rue_space_thin(goal->space, keep);
        if (fits(goal, out, stretch)) return true;
        int next = RUE_KNOB_COUNT;
        double most = 0;
        for (int k = 0; k < RUE_KNOB_COUNT; k++) {
            double share = (double)(keep[k] - 1) / goal->space->count[k];
            if (share <= most) continue;
            most = share;
            next = k;
        }
        if (next == RUE_KNOB_COUNT) return false;
        keep[next]--;
    }
}

/* The longest trials with which `space` fits, which fits with trials at their floor and not with whole jobs.
 */
static double longest_stretch(const struct rue_plan_goal *goal, const struct rue_space *space)
{
    double shorter = 1, beyond = 2;
    while (fits(goal, space, beyond)) beyond *= 2;
    while (beyond - shorter > 1e-3 * shorter) {
        double middle = shorter + (beyond - shorter) / 2;
        if (fits(goal, space, middle))
            shorter = middle;
        else
            beyond = middle;
    }
    return shorter;
}

rue_status rue_plan_make(const struct rue_plan_goal *goal, struct rue_plan *out, rue_error *error)
{
    size_t size = rue_space_size(goal->space);
    struct rue_space whole, shortest;
    assert(size > 0 && goal->scenario_count > 0 && goal->repeats > 0 && goal->budget_s >= 0);
    if (size > RUE_PLAN_CONFIGS_MAX)
        return rue_fail(
            error, RUE_USAGE,
            "the space holds %zu configurations, and at most %d can all be tried; give fewer values", size,
            RUE_PLAN_CONFIGS_MAX);
    if (!thin_to_fit(goal, goal->whole_jobs ? INFINITY : 1, &shortest))
        return rue_fail(error, RUE_USAGE,
                        "the budget is too small for one configuration on every scenario; raise --budget");
    bool fits_whole = thin_to_fit(goal, INFINITY, &whole);
    if (fits_whole && 3 * rue_space_size(&whole) >= 2 * rue_space_size(&shortest))
        *out = rue_plan_on(goal, &whole, INFINITY);
    else
        *out = rue_plan_on(goal, &shortest, longest_stretch(goal, &shortest));
    return RUE_OK;
}
