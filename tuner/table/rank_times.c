#include "rank_times.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowdown.h"

static const double slow_ratio = 1.1;   /* of the time of the median rank: less is not named */
static const double shown_ratio = 0.05; /* of the time, or of the data: causes below are not named */

struct rue_rank_sums {
    char node[RUE_SLOW_NODE_BYTES];
    double log_ratio; /* of its time over the median of the others */
    double log_model; /* of the time in the model, likewise */
    double stolen, throttled;
    double read_bytes, data_bytes;
};

static double number(const json_t *rank, const char *key)
{
    const json_t *value = json_object_get(rank, key);
    return json_is_number(value) ? json_number_value(value) : 0;
}

/* The ratio of each value to the median of the other ones. */
static void compare(const double *values, size_t count, double *scratch, double *ratios)
{
    for (size_t i = 0; i < count; i++) {
        size_t others = 0;
        for (size_t k = 0; k < count; k++)
            if (k != i) scratch[others++] = values[k];
        double median = others ? rue_median(scratch, others) : values[i];
        ratios[i] = median > 0 && values[i] > 0 ? values[i] / median : 1;
    }
}

/* `scratch` has room for 4 numbers a rank. */
static void add_ranks(struct rue_rank_times *times, const json_t *array, double *scratch)
{
    size_t count = times->count;
    double *end = scratch + count, *model = scratch + 2 * count, *ratios = scratch + 3 * count;
    for (size_t i = 0; i < count; i++) {
        end[i] = number(json_array_get(array, i), "end_to_end_ns");
        model[i] = number(json_array_get(array, i), "compute_ns");
        if (!(end[i] > 0)) return; /* it failed */
    }
    times->trials++;
    compare(end, count, scratch, ratios);
    for (size_t i = 0; i < count; i++) times->ranks[i].log_ratio += log(ratios[i]);
    compare(model, count, scratch, ratios);
    for (size_t i = 0; i < count; i++) times->ranks[i].log_model += log(ratios[i]);
    for (size_t i = 0; i < count; i++) {
        const json_t *rank = json_array_get(array, i);
        const char *node = json_string_value(json_object_get(rank, "node"));
        struct rue_rank_sums *sums = &times->ranks[i];
        snprintf(sums->node, sizeof sums->node, "%s", node ? node : "");
        sums->stolen += number(rank, "stolen_ratio");
        sums->throttled += number(rank, "throttled_ratio");
        sums->read_bytes += number(rank, "read_bytes");
        sums->data_bytes += number(rank, "data_bytes");
    }
}

rue_status rue_rank_times_add(struct rue_rank_times *times, const char *ranks, rue_error *error)
{
    json_t *array = ranks ? json_loads(ranks, 0, NULL) : NULL;
    size_t count = json_array_size(array);
    bool comparable = count > 1 && (times->count == 0 || times->count == count);
    double *scratch = comparable ? calloc(4 * count, sizeof *scratch) : NULL;
    if (scratch && times->count == 0) times->ranks = calloc(count, sizeof *times->ranks);
    if (times->ranks && comparable) times->count = count;
    bool added = scratch && times->ranks;
    if (added) add_ranks(times, array, scratch);
    free(scratch);
    json_decref(array);
    return added || !comparable ? RUE_OK : rue_fail_memory(error, "times of ranks", count * sizeof *scratch);
}

static double share_read(const struct rue_rank_sums *sums)
{
    return sums->data_bytes > 0 ? sums->read_bytes / sums->data_bytes : 0;
}

/* What the slow rank's machine says, or where its time goes. */
static void find_cause(const struct rue_rank_times *times, const struct rue_rank_sums *slow,
                       char out[RUE_SLOW_CAUSE_BYTES])
{
    double trials = (double)times->trials, others = 0;
    for (size_t i = 0; i < times->count; i++)
        if (&times->ranks[i] != slow) others += share_read(&times->ranks[i]) / (double)(times->count - 1);
    if (slow->stolen / trials > shown_ratio)
        snprintf(out, RUE_SLOW_CAUSE_BYTES,
                 "%.0f %% of the CPU time of its machine was stolen by the hypervisor",
                 100 * fmin(slow->stolen / trials, 1));
    else if (slow->throttled / trials > shown_ratio)
        snprintf(out, RUE_SLOW_CAUSE_BYTES, "a CPU quota stopped it for %.0f %% of the time",
                 100 * fmin(slow->throttled / trials, 1));
    else if (share_read(slow) > others + shown_ratio)
        snprintf(out, RUE_SLOW_CAUSE_BYTES, "it read %.0f %% of its data from storage, the others %.0f %%",
                 100 * fmin(share_read(slow), 1), 100 * fmin(others, 1));
    else if (slow->log_model / trials > log(slow_ratio))
        snprintf(out, RUE_SLOW_CAUSE_BYTES, "its model is slower");
    else
        snprintf(out, RUE_SLOW_CAUSE_BYTES, "its loader is slower, and its machine reports no cause");
}

struct rue_slow_rank_findings rue_rank_times_slowest(const struct rue_rank_times *times)
{
    struct rue_slow_rank_findings slow = {0};
    size_t at = 0;
    for (size_t i = 1; i < times->count; i++)
        if (times->ranks[i].log_ratio > times->ranks[at].log_ratio) at = i;
    double ratio = times->trials ? exp(times->ranks[at].log_ratio / (double)times->trials) : 0;
    if (ratio < slow_ratio) return slow;
    slow.rank = at;
    slow.slower_ratio = ratio;
    memcpy(slow.node, times->ranks[at].node, sizeof slow.node);
    find_cause(times, &times->ranks[at], slow.cause);
    return slow;
}

void rue_rank_times_close(struct rue_rank_times *times)
{
    free(times->ranks);
    *times = (struct rue_rank_times){0};
}
