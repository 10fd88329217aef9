#include "reference.h"

#include <math.h>
#include <stdlib.h>

#include "flight.h"
#include "probes.h"
#include "study_costs.h"

enum { WORKERS = 4, ROUNDS = 3, STORED_TRIALS_MAX = 1024 };

struct rue_reference rue_reference_choose(const struct rue_study_setup *setup, size_t variant)
{
    bool load = rue_study_hello(setup)->measures[RUE_LOAD];
    size_t config = rue_probes_nearest(setup->configs, setup->config_count, 1, WORKERS);
    struct rue_reference reference = {
        .chosen = true,
        .model = load ? RUE_NONE : 0,
        .request = {.measure = load ? RUE_LOAD : RUE_JOINT, .config = setup->configs[config]}};
    uint64_t batch = rue_trial_batch(&reference.request.config),
             images = ROUNDS * rue_trial_loaders(&reference.request.config) * batch,
             most = setup->variants[variant].job_images;
    if (!load &&
        !rue_study_predicts(setup)) { /* shorter than the study's trials, so it is never reused as one */
        uint64_t measured = rue_study_trial_images(setup, variant, &reference.request.config);
        most = measured > batch ? measured - batch : 1;
    }
    reference.request.images = images < most ? images : most;
    return reference;
}

/* Stored rows that may be references. */
struct stored {
    const struct rue_study_setup *setup;
    const struct rue_trial_request *reference;
    size_t node;
    size_t count;
    struct stored_trial {
        uint64_t id, images;
        double log_s;
    } at[STORED_TRIALS_MAX];
};

/* Load-only references may have been made longer; joint ones keep their length. */
static rue_status add_stored_trial(void *context, uint64_t id, const struct rue_trial_result *result,
                                   rue_error *error)
{
    struct stored *stored = context;
    (void)error;
    uint64_t images = result->images > 0 ? (uint64_t)result->images : 0;
    bool good = result->outcome == RUE_TRIAL_OK && result->end_to_end_ns > 0 &&
                stored->count < STORED_TRIALS_MAX &&
                rue_study_find_node(stored->setup, result->ranks) == stored->node;
    if (good && (stored->reference->measure == RUE_LOAD || images == stored->reference->images))
        stored->at[stored->count++] =
            (struct stored_trial){id, images, log((double)result->end_to_end_ns / 1e9)};
    return RUE_OK;
}

/* References have the most frequent length, that of `*most` trials. */
static uint64_t most_frequent(const struct stored *stored, size_t *most)
{
    uint64_t images = 0;
    for (size_t i = *most = 0; i < stored->count; i++) {
        size_t count = 0;
        for (size_t j = 0; j < stored->count; j++) count += stored->at[j].images == stored->at[i].images;
        if (count >= *most) *most = count, images = stored->at[i].images;
    }
    return images;
}

rue_status rue_reference_continue(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  struct rue_reference *reference, bool fixed,
                                  struct rue_reference_series *series, rue_error *error)
{
    struct rue_flight flight = {.at = {.variant = series->variant, .model = reference->model},
                                .request = reference->request};
    struct stored *stored = calloc(1, sizeof *stored);
    if (!stored) return rue_fail_memory(error, "references", sizeof *stored);
    *stored = (struct stored){.setup = setup, .reference = &reference->request, .node = series->node};
    rue_status status = rue_flight_visit_stored(setup, ledger, &flight, add_stored_trial, stored, error);
    size_t most;
    uint64_t images = most_frequent(stored, &most);
    bool known = status == RUE_OK && most >= RUE_REFERENCE_VALUES_MIN;
    if (known && !fixed) reference->request.images = images;
    double load_now = rue_speed_history_at(&ledger->speeds, SIZE_MAX).load;
    for (size_t i = 0; known && i < stored->count; i++) {
        const struct stored_trial *row = &stored->at[i];
        double load_then = rue_speed_history_at(&ledger->speeds, row->id).load;
        if (row->images == reference->request.images)
            rue_reference_level_add(&series->baseline, row->log_s - load_then + load_now);
    }
    free(stored);
    return status;
}

bool rue_reference_lengthen(struct rue_reference *reference, uint64_t job_images, double seconds,
                            double target_s)
{
    uint64_t *images = &reference->request.images;
    if (reference->model != RUE_NONE || !(target_s > 1.5 * seconds) || *images >= job_images) return false;
    *images = (uint64_t)fmin((double)job_images, ceil((double)*images * target_s / seconds));
    return true;
}

void rue_reference_restart(struct rue_reference_series *series)
{
    rue_reference_level_reset(&series->baseline);
    series->anchored |= series->initial != 0;
    for (size_t i = 0; i < series->pending_count; i++)
        rue_reference_level_add(&series->baseline, series->pending[i]);
    series->pending_count = 0;
}
