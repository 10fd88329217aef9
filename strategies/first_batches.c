#include "first_batches.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>

static const double prediction_error = 0.2; /* by which a first batch may come sooner than predicted */

enum { REPEATS_MAX = 64 }; /* of a cell that are looked at */

double rue_first_batch_s(const struct rue_prediction *prediction, size_t model, size_t config, bool *measured)
{
    const struct rue_trial_log *joints = rue_prediction_joints(prediction);
    double told_s[REPEATS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < joints->count && count < REPEATS_MAX; i++) {
        const struct rue_logged_trial *trial = &joints->at[i];
        if (trial->model == model && trial->config == config && !isnan(trial->times.first_batch_s))
            told_s[count++] = trial->times.first_batch_s;
    }
    *measured = count > 0;
    return count ? gsl_stats_median(told_s, 1, count)
                 : rue_prediction_first_batch_s(prediction, model, config);
}

/* On the model where it comes last; `*measured_late`: it was measured beyond the limit on some model. */
static double latest_s(const struct rue_prediction *prediction, const struct rue_strategy_setup *setup,
                       size_t config, bool *measured_late)
{
    double latest = 0;
    *measured_late = false;
    for (size_t m = 0; m < setup->scenario_count; m++) {
        bool measured;
        double first_s = rue_first_batch_s(prediction, m, config, &measured);
        *measured_late |= measured && first_s > setup->first_batch_limit_s;
        latest = fmax(latest, first_s);
    }
    return latest;
}

void rue_first_batches_mark(const struct rue_prediction *prediction, const struct rue_strategy_setup *setup,
                            const bool *excluded, bool *late)
{
    size_t nearest = SIZE_MAX, left = 0;
    double least = INFINITY;
    bool any_measured_late = false;
    if (!(setup->first_batch_limit_s > 0)) return;
    for (size_t c = 0; c < setup->config_count; c++) {
        bool measured_late;
        double first_s = latest_s(prediction, setup, c, &measured_late);
        late[c] = first_s > setup->first_batch_limit_s;
        any_measured_late |= measured_late;
        left += !late[c] && !excluded[c];
        if (measured_late || excluded[c] || first_s >= least) continue;
        least = first_s;
        nearest = c;
    }
    bool may_do = least <= setup->first_batch_limit_s * (1 + prediction_error) || !any_measured_late;
    if (left == 0 && nearest != SIZE_MAX && may_do) late[nearest] = false;
}
