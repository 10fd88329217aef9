/* The plan of an exhaustive run: which configurations, how many images a trial, so that it fits the budget
 * before it starts. Trials stay whole jobs as long as that costs no more than a third of the configurations;
 * else they get shorter, down to their floor and never below it, and the grid gets thinner. */
#ifndef RUE_PLAN_H
#define RUE_PLAN_H

#include "error.h"
#include "space.h"

/* The largest space that an exhaustive run is planned for, in configurations. */
enum { RUE_PLAN_CONFIGS_MAX = 65536 };

/* What a variant's loader is known to do, from load-only probes. Both positive and finite. */
struct rue_plan_loader {
    double one_worker_images_per_s;  /* of num_workers = 0 or 1 */
    double all_workers_images_per_s; /* with a worker on every usable CPU; taken to be at least that of one
                                        worker */
};

/* One scenario as the plan sees it. */
struct rue_plan_scenario {
    struct rue_plan_loader loader;
    double compute_s_per_image; /* from the compute-only probe; at least 0 */
    uint64_t job_images; /* that the job consumes: without the last partial batch where that is dropped */
};

struct rue_plan_goal {
    const struct rue_space *space;
    const struct rue_plan_scenario *scenarios;
    size_t scenario_count;
    int repeats;
    bool whole_jobs;         /* trials are never shorter than the job */
    double trial_overhead_s; /* a trial's cost beside its own time: starting, warming the model, answering */
    double budget_s;         /* what is left of the budget; 0 or INFINITY: unlimited */
    size_t budget_trials;    /* the most trials, all repeats; 0: unlimited */
};

struct rue_plan {
    struct rue_space space; /* the grid that is run */
    double stretch;         /* a trial runs about min(J, stretch * floor) images; INFINITY: the whole job */
    size_t trials;          /* all repeats */
    size_t full_trials;     /* of them, those that run the whole job */
    double expected_s;      /* all trials with their overhead; at most the budget */
};

/* Images of a trial of `config` for a job of `job_images` under a plan of this `stretch` (at least 1): the
 * job, or a whole number of batches, at least stretch * rue_job_floor_images, that ends where the job ends
 * within a volley of the workers, so that the job is whole volleys longer than the trial (see job_time.h).
 * Never falls as stretch rises. */
uint64_t rue_plan_images(double stretch, const struct rue_config *config, uint64_t job_images);

/* Expected seconds of one joint trial of `images`, without the overhead. The loader is taken to speed up with
 * each worker until it reaches its rate with all of them. num_workers = 0: loading plus computing, one after
 * the other. Else the slower of the two, plus the first batch, which one worker loads where workers load
 * whole batches, and all of them where they share it. */
double rue_plan_trial_s(const struct rue_plan_scenario *scenario, const struct rue_config *config,
                        uint64_t images);

/* All trials on `space`. */
struct rue_plan rue_plan_on(const struct rue_plan_goal *goal, const struct rue_space *space, double stretch);

/* A grid that fits the budget with trials at their floor, thinned evenly, and on that the longest trials.
 * Whole jobs are preferred as long as they do not cost more than a third of the configurations. The goal has
 * scenarios, images and repeats, and figures that make sense. Deterministic. RUE_USAGE when not even one
 * configuration on every scenario fits, and for a space of more than RUE_PLAN_CONFIGS_MAX. */
rue_status rue_plan_make(const struct rue_plan_goal *goal, struct rue_plan *out,
                         rue_error *error) RUE_MUST_CHECK;

#endif
