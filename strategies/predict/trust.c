#include "trust.h"

#include <math.h>

#include "disturbance.h"
#include "trial_shape.h"

/* Of the logarithm of a time about what a prior says that holds. */
static const double sd[RUE_MEASURE_COUNT] = {[RUE_JOINT] = 0.06, [RUE_LOAD] = 0.06, [RUE_COMPUTE] = 0.03};

static double compute_s(const struct rue_compute_curve *curve, int batch_size)
{
    struct rue_pipeline_consumer consumer = rue_compute_curve_at(curve, batch_size);
    return curve->count ? consumer.batch_s + batch_size * consumer.image_s : NAN;
}

/* The logarithm of measured over believed time; NaN where nothing is believed. */
static double off_by(const struct rue_strategy_setup *setup, const struct rue_consumers *consumers,
                     enum rue_measure measure, const struct rue_logged_trial *trial)
{
    const struct rue_prior *prior = setup->known.prior;
    const struct rue_knowledge *knowledge = prior->knowledge;
    const struct rue_config *config = &setup->grid.configs[trial->config];
    size_t consumer = rue_consumers_find(consumers, trial->model, config),
           cell = trial->model * setup->grid.config_count + trial->config;
    if (measure == RUE_COMPUTE)
        return log(trial->consumer_s / (double)trial->batches /
                   compute_s(&rue_knowledge_of(knowledge, consumers, consumer)->curve,
                             (int)rue_trial_batch(config)));
    double took = log(trial->times.end_to_end_s);
    if (measure == RUE_JOINT)
        return took - log(rue_prior_job_s(prior, cell, trial->model, config, trial->images));
    return took - log(rue_pipeline_predict(&knowledge->loader, &knowledge->hand, config, trial->images)
                          .end_to_end_s);
}

/* Something may have disturbed a third of the trials; more, and the prior is of something else. */
static bool bears_out(const struct rue_strategy_setup *setup, const struct rue_consumers *consumers,
                      enum rue_measure measure, const struct rue_trial_log *log)
{
    size_t known = 0, wrong = 0;
    for (size_t i = 0; i < log->count; i++) {
        const struct rue_logged_trial *trial = &log->at[i];
        if (rue_speed_differs(trial->speed, (struct rue_speed){0, 0})) continue; /* the machine has changed */
        double off = off_by(setup, consumers, measure, trial);
        known += !isnan(off);
        wrong += rue_disturbance_is_likely(off, sd[measure]);
    }
    return wrong == 0 || 3 * wrong < known;
}

bool rue_trust_prior(const struct rue_strategy_setup *setup, const struct rue_consumers *consumers,
                     const struct rue_trial_log *logs)
{
    /* Of the loader of another machine, or of other data, nothing is promised. */
    for (enum rue_measure m = setup->known.prior->same ? 0 : RUE_COMPUTE; m < RUE_MEASURE_COUNT; m++)
        if (!bears_out(setup, consumers, m, &logs[m])) return false;
    return true;
}
