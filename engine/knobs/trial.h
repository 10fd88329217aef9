/* A trial: what is asked of a runner and what it answers. Field names are those of the protocol, the store
 * and the CSV; times are nanoseconds on the monotonic clock, from just before the loader's workers are
 * started. */
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
    RUE_JOINT,   /* loader and model together: the truth */
    RUE_LOAD,    /* the loader against a consumer that takes no time */
    RUE_COMPUTE, /* the model on one resident batch */
    RUE_MEASURE_COUNT
};
extern const char *const rue_measure_names[RUE_MEASURE_COUNT + 1]; /* NULL at the end */

enum rue_outcome {
    RUE_TRIAL_OK,
    RUE_TRIAL_INFEASIBLE, /* would not fit in memory or limits */
    RUE_TRIAL_FAILED,     /* with a reason and the file concerned */
    RUE_TRIAL_TIMEOUT,
    RUE_OUTCOME_COUNT
};
extern const char *const rue_outcome_names[RUE_OUTCOME_COUNT + 1]; /* NULL at the end */

struct rue_limits {
    uint64_t time_ns;      /* 0: none */
    uint64_t memory_bytes; /* of the loader's slabs; 0: none */
};

struct rue_trial_request {
    uint64_t id;
    enum rue_measure measure;
    struct rue_variant variant;
    char model[RUE_MODEL_NAME_BYTES]; /* "" for the measure load */
    struct rue_config config;
    struct rue_workload workload;
    uint64_t images;     /* to load in this trial */
    uint64_t job_images; /* J: the job that this trial is about; images < J is a truncated trial */
    uint64_t batches;    /* of the measure compute */
    uint64_t repeat;     /* 0, 1, ...: which repeat of this question it is */
    struct rue_limits limits;
    bool detail; /* also answer with the times of each batch */
    bool waits;  /* says when it is ready, and starts when it is told */
};

/* X(name, what it says). Integers; RUE_ABSENT where the runner did not say. */
#define RUE_TRIAL_INTEGERS(X)                                                               \
    X(images, "images consumed")                                                            \
    X(batches, "batches consumed")                                                          \
    X(end_to_end_ns, "until the workers are joined")                                        \
    X(first_batch_ns, "until batch 0 is delivered")                                         \
    X(load_wait_ns, "time of the consumer's thread waiting for batches")                    \
    X(compute_ns, "time of the consumer's thread in the model and in handing batches back") \
    X(shutdown_ns, "from the last batch until the workers are joined")                      \
    X(h2d_ns, "device time of copies; may overlap")                                         \
    X(device_ns, "device time of kernels; the rest of end_to_end_ns it idled")              \
    X(warmup_ns, "the model's warm-up, outside end_to_end_ns")                              \
    X(anon_peak_bytes, "largest resident anonymous memory of the process during the trial") \
    X(file_peak_bytes, "resident file-backed memory of the process at the trial's end")     \
    X(read_bytes, "bytes that came from storage, by the kernel's accounting")               \
    X(bad_images, "images that could not be decoded")                                       \
    X(sleep_overshoot_ns, "how late the sleeping model woke, summed")                       \
    X(cost_ns, "what the trial cost on the runner's own clock")                             \
    X(data_bytes, "bytes of the items that it loaded, each counted once")                   \
    X(cache_missed, "1 when the data were not warm, or cold, as the workload says")         \
    X(refused, "1 when infeasible as the system, not the limit, refused memory, threads or files")

/* X(name, what it says). Reals; NaN where the runner did not say. */
#define RUE_TRIAL_REALS(X) X(cpu_ratio, "CPU seconds of the process per second of the trial")

#define RUE_ABSENT INT64_MIN

/* Nine years in ns, 288 PB: larger integers are mistakes, and sums of a few of these do not overflow. */
#define RUE_TRIAL_FIELD_MAX (INT64_C(1) << 58)

struct rue_trial_result {
    enum rue_outcome outcome;
    char reason[RUE_REASON_BYTES]; /* when ok: "", or which images were replaced */
    struct rue_config config;      /* as run */
    bool spent;                    /* whoever ran it can run no more, as with a GPU that failed */
#define X(name, text) int64_t name;
    RUE_TRIAL_INTEGERS(X)
#undef X
#define X(name, text) double name;
    RUE_TRIAL_REALS(X)
#undef X
    size_t ready_count;       /* 0 without detail */
    uint64_t *batch_ready_ns; /* [ready_count] owned: when batch i was delivered, from the start */
    size_t load_count;
    uint64_t
        *batch_load_ns; /* [load_count] owned: what workers spent on loading batch i, all of them summed */
    size_t compute_count;
    uint64_t *batch_compute_ns; /* [compute_count] owned: of the consumer's thread; without detail of the
                                 * measure compute alone */
};

/* One row of the field tables above, for code that walks over all of them. */
struct rue_trial_field {
    const char *name;
    size_t offset; /* of the int64_t or double in struct rue_trial_result */
    bool real;
    const char *help;
};
extern const struct rue_trial_field rue_trial_fields[];
extern const size_t rue_trial_field_count;

/* Whether a field may hold `value`: what runners may answer, and what a store may hold. */
static inline bool rue_trial_field_is_valid(double value)
{
    return value >= 0 && value <= (double)RUE_TRIAL_FIELD_MAX;
}

/* All fields absent, outcome failed, no reason. */
struct rue_trial_result rue_trial_result_empty(void);

/* Frees the owned arrays; the result may be used again after rue_trial_result_empty. */
void rue_trial_result_close(struct rue_trial_result *result);

/* Beside what else its reason says. */
void rue_trial_result_add_reason(struct rue_trial_result *result, const char *text);

#endif
