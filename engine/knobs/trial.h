/* A trial: the request to a runner and its result. The protocol, the store and the CSV use the same field
 * names. Times are nanoseconds on the monotonic clock, from just before the loader is opened. */
#ifndef RUE_TRIAL_H
#define RUE_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "variant.h"
#include "workload.h"

enum { RUE_MODEL_NAME_BYTES = 96, RUE_REASON_BYTES = 512, RUE_BATCH_TIMES_MAX = 1 << 20 };

enum rue_measure {
    RUE_JOINT,   /* end to end, loader and model together */
    RUE_LOAD,    /* the loader alone, with a consumer that needs no time */
    RUE_COMPUTE, /* the model on one resident batch */
    RUE_MEASURE_COUNT
};
extern const char *const rue_measure_names[RUE_MEASURE_COUNT + 1]; /* NULL at the end */

enum rue_outcome {
    RUE_TRIAL_OK,
    RUE_TRIAL_INFEASIBLE, /* does not fit in memory or limits */
    RUE_TRIAL_FAILED,     /* with a reason and the file concerned */
    RUE_TRIAL_TIMEOUT,
    RUE_OUTCOME_COUNT
};
extern const char *const rue_outcome_names[RUE_OUTCOME_COUNT + 1]; /* NULL at the end */

struct rue_limits {
    uint64_t time_ns;      /* 0: none */
    uint64_t memory_bytes; /* of the loader's batch buffers and its cache of chunks; 0: none */
};

struct rue_trial_request {
    uint64_t id;
    enum rue_measure measure;
    struct rue_variant variant;
    char model[RUE_MODEL_NAME_BYTES]; /* "": only the loader is measured */
    struct rue_config config;
    struct rue_workload workload;
    uint64_t images;     /* to load in this trial */
    uint64_t job_images; /* the job's images; a trial of fewer is truncated */
    uint64_t batches;    /* for the measure compute */
    uint64_t repeat;     /* 0, 1, ...: the number of this repeat */
    struct rue_limits limits;
    bool detail; /* also report the times of each batch */
    bool waits;  /* the runner reports that it is ready, and starts on request */
};

/* X(name, meaning). Integers; RUE_ABSENT: the runner did not report it. */
#define RUE_TRIAL_INTEGERS(X)                                                                        \
    X(images, "images consumed")                                                                     \
    X(batches, "batches consumed")                                                                   \
    X(end_to_end_ns, "from opening the loader until its workers are joined")                         \
    X(first_batch_ns, "from opening the loader until batch 0 is delivered")                          \
    X(load_wait_ns, "time of the consumer's thread waiting for batches")                             \
    X(compute_ns, "time of the consumer's thread in the model and in releasing batches")             \
    X(shutdown_ns, "from the last batch until the workers are joined")                               \
    X(h2d_ns, "device time of copies; may overlap")                                                  \
    X(device_ns, "device time of kernels; the device is idle for the rest of end_to_end_ns")         \
    X(warmup_ns, "warm-up of the model, not part of end_to_end_ns")                                  \
    X(anon_peak_bytes, "largest resident anonymous memory of the process during the trial")          \
    X(file_peak_bytes, "resident file-backed memory of the process at the trial's end")              \
    X(read_bytes, "bytes read from storage, from the kernel's counters")                             \
    X(bad_images, "images that could not be decoded")                                                \
    X(sleep_overshoot_ns, "total delay of the sleeping model's wake-ups")                            \
    X(cost_ns, "cost of the trial on the runner's own clock")                                        \
    X(data_bytes, "bytes of the loaded items, each counted once")                                    \
    X(cache_missed, "1 if the data were not in the state (warm or cold) that the workload requires") \
    X(queue_waits, "batches after the first that were not loaded when the consumer asked for them")  \
    X(queue_empty_batch, "number of the first of these batches")                                     \
    X(queue_fills, "batches that were asked for when as many were loaded as may be in flight")       \
    X(refused, "1 if infeasible because the system, not a limit, refused memory, threads or files")

/* X(name, meaning). Reals; NaN: the runner did not report it. */
#define RUE_TRIAL_REALS(X)                                                                          \
    X(cpu_ratio, "CPU seconds of the process per second of the trial")                              \
    X(cpu_idle_ratio, "idle seconds of the CPUs that the process may use, per second of the trial") \
    X(cpu_stolen_ratio, "seconds of these CPUs that the hypervisor gave to others, per second")     \
    X(cpu_waited_ratio, "share of the time in which some task of the machine waited for a CPU")

/* X(name, count, meaning). Lists of the detail, with an element for each batch. */
#define RUE_TRIAL_LISTS(X)                                                             \
    X(batch_ready_ns, ready_count, "when the batch was delivered, since the start")    \
    X(batch_load_ns, load_count, "time that workers spent on it, summed over workers") \
    X(batch_compute_ns, compute_count,                                                 \
      "time of the consumer's thread; without detail only for the measure compute")    \
    X(batch_images, images_count, "its number of images")                              \
    X(batch_queued, queued_count, "batches loaded and not delivered when the consumer asked for it")

#define RUE_ABSENT INT64_MIN

/* Nine years in ns, 288 PB: larger integers are errors. Sums of a few of these do not overflow. */
#define RUE_TRIAL_FIELD_MAX (INT64_C(1) << 58)

struct rue_trial_result {
    enum rue_outcome outcome;
    char reason[RUE_REASON_BYTES]; /* if ok: "" or which images were replaced */
    struct rue_config config;      /* as run */
    bool data_fault;               /* failed because an item of the data cannot be loaded */
    bool spent;                    /* the runner cannot run another trial, for example after a GPU error */
    bool retry;                    /* failed by a pause or the loss of a rank; another try may succeed */
#define X(name, text) int64_t name;
    RUE_TRIAL_INTEGERS(X)
#undef X
#define X(name, text) double name;
    RUE_TRIAL_REALS(X)
#undef X
#define X(list, count, text)                              \
    size_t count;   /* 0: the runner did not report it */ \
    uint64_t *list; /* [count] owned */
    RUE_TRIAL_LISTS(X)
#undef X
    char *ranks; /* owned; JSON: what each rank of a launched trial measured; NULL: not launched */
};

/* One row of the tables of integers and reals. */
struct rue_trial_field {
    const char *name;
    size_t offset; /* of the int64_t or double in struct rue_trial_result */
    bool real;
    const char *help;
};
extern const struct rue_trial_field rue_trial_fields[];
extern const size_t rue_trial_field_count;

/* Whether `value` is valid for a field: the rule for replies of runners and for rows of stores. */
static inline bool rue_trial_field_is_valid(double value)
{
    return value >= 0 && value <= (double)RUE_TRIAL_FIELD_MAX;
}

/* All fields absent, outcome failed, no reason. */
struct rue_trial_result rue_trial_result_empty(void);

/* Frees what it owns. The result may be reused after rue_trial_result_empty. */
void rue_trial_result_close(struct rue_trial_result *result);

/* Makes it a failed trial with this reason, and without any value but its configuration and ranks. */
void rue_trial_result_fail(struct rue_trial_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Forgets the arrays and ranks: another result owns them. */
void rue_trial_result_drop_lists(struct rue_trial_result *result);

/* Appends `text` to the reason, after "; ". */
void rue_trial_result_add_reason(struct rue_trial_result *result, const char *text);

#endif
