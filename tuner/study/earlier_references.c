#include "earlier_references.h"

#include <math.h>
#include <stdlib.h>

#include "study_measure.h"

enum { SEEN_MAX = 1024 };

/* Rows of the store that may be references. */
struct seen {
    size_t count;
    struct row {
        uint64_t id, images;
        double log_s;
    } at[SEEN_MAX];
};

/* Load-only references are made longer where they take no time; joint ones are as they are. */
static rue_status look(struct rue_study *study, size_t variant, size_t model,
                       const struct rue_trial_request *like, struct seen *seen, rue_error *error)
{
    uint64_t after = 0;
    while (seen->count < SEEN_MAX) {
        struct rue_trial_request request = *like;
        struct rue_trial_result result;
        struct row row;
        uint64_t started_ns;
        bool found;
        rue_status status =
            rue_study_look_up(study, variant, model, &request, (struct rue_store_pick){.after = after},
                              &found, &row.id, &started_ns, &result, error);
        if (status != RUE_OK || !found) return status;
        after = row.id;
        row.images = result.images > 0 ? (uint64_t)result.images : 0;
        row.log_s = log((double)result.end_to_end_ns / 1e9);
        bool good = result.outcome == RUE_TRIAL_OK && result.end_to_end_ns > 0;
        if (good && (like->measure == RUE_LOAD || row.images == like->images)) seen->at[seen->count++] = row;
        rue_trial_result_close(&result);
    }
    return RUE_OK;
}

static size_t count_of(const struct seen *seen, uint64_t images)
{
    size_t count = 0;
    for (size_t i = 0; i < seen->count; i++) count += seen->at[i].images == images;
    return count;
}

/* Nothing is repeated as often as a reference. */
static uint64_t most_frequent(const struct seen *seen)
{
    uint64_t images = 0;
    for (size_t i = 0; i < seen->count; i++)
        if (count_of(seen, seen->at[i].images) >= count_of(seen, images)) images = seen->at[i].images;
    return images;
}

rue_status rue_earlier_references(struct rue_study *study, size_t variant, size_t model,
                                  struct rue_trial_request *request, struct rue_baseline *baseline,
                                  rue_error *error)
{
    struct seen *seen = calloc(1, sizeof *seen);
    if (!seen) return rue_fail_memory(error, "references", sizeof *seen);
    rue_status status = look(study, variant, model, request, seen, error);
    uint64_t images = most_frequent(seen);
    bool known = status == RUE_OK && count_of(seen, images) >= RUE_BASELINE_LEAST;
    if (known) request->images = images;
    for (size_t i = 0; known && i < seen->count; i++) {
        const struct row *row = &seen->at[i];
        double load_then = rue_speed_history_at(&study->speeds, row->id).load,
               load_now = rue_speed_history_at(&study->speeds, SIZE_MAX).load;
        if (row->images == images) rue_baseline_add(baseline, row->log_s - load_then + load_now);
    }
    free(seen);
    return status;
}
