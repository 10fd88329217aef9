#include "trust.h"

#include <math.h>

/* How far the logarithm of a time may lie from what the prior says. Load and joint trials are short, and
 * disturbed more often. */
static const double far_compute = 0.1, far_load = 0.2, far_joint = 0.2;

static bool is_far(double measured_s, double believed_s, double far)
{
    return measured_s > 0 && believed_s > 0 && fabs(log(measured_s / believed_s)) > far;
}

static bool contradicts_compute(const struct rue_compute_curve *known,
                                const struct rue_compute_curve *measured)
{
    for (size_t i = 0; known->count && i < measured->count; i++) {
        int batch_size = measured->points[i].batch_size;
        struct rue_pipeline_consumer consumer = rue_compute_curve_at(known, batch_size);
        if (is_far(measured->points[i].batch_s, consumer.batch_s + consumer.image_s * batch_size,
                   far_compute))
            return true;
    }
    return false;
}

/* Load trials by number that are far off. */
static size_t count_far_loads(const struct rue_strategy_setup *setup, const struct rue_trial_log *loads)
{
    const struct rue_knowledge *knowledge = setup->prior->knowledge;
    size_t count = 0;
    for (size_t i = 0; i < loads->count; i++) {
        struct rue_pipeline_times times;
        const struct rue_logged_trial *trial = &loads->at[i];
        rue_status status = rue_pipeline_predict(&knowledge->loader, &knowledge->hand,
                                                 &setup->configs[trial->config], trial->images, &times, NULL);
        count += status == RUE_OK && is_far(trial->times.end_to_end_s, times.end_to_end_s, far_load);
    }
    return count;
}

static size_t count_far_joints(const struct rue_strategy_setup *setup, const struct rue_trial_log *joints)
{
    const struct rue_prior *prior = setup->prior;
    size_t count = 0;
    for (size_t i = 0; i < joints->count; i++) {
        const struct rue_logged_trial *trial = &joints->at[i];
        if (trial->speed.load != 0 || trial->speed.compute != 0) continue; /* the machine has changed since */
        double time_s = rue_knowledge_job_s(prior->knowledge, trial->model, &setup->configs[trial->config],
                                            trial->images);
        double offset =
            prior->offsets ? prior->offsets[trial->model * setup->config_count + trial->config] : 0;
        count += is_far(trial->times.end_to_end_s, time_s * exp(offset), far_joint);
    }
    return count;
}

bool rue_trust_prior(const struct rue_strategy_setup *setup, const struct rue_compute_curve *measured,
                     const struct rue_trial_log *loads, const struct rue_trial_log *joints)
{
    struct rue_consumers consumers =
        rue_consumers_of(setup->scenario_count, setup->configs, setup->config_count);
    for (size_t c = 0; c < consumers.count; c++)
        if (contradicts_compute(&rue_knowledge_of(setup->prior->knowledge, &consumers, c)->curve,
                                &measured[c]))
            return false;
    if (!setup->prior->same) return true; /* of the loader nothing was promised */
    /* Something may have disturbed a third of the trials; more, and it is another loader. */
    return 3 * count_far_loads(setup, loads) < loads->count + (loads->count == 0) &&
           3 * count_far_joints(setup, joints) < joints->count + (joints->count == 0);
}
