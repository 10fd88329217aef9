/* Scaling experiments: how the rate of each variant grows with the batch size at fixed workers, and with the
 * workers at a fixed batch size. Trials are those of a study, in its store; while one runs, what the
 * processes of the runner use is watched. */
#ifndef RUE_SCALE_H
#define RUE_SCALE_H

#include "scaling.h"
#include "study.h"

enum { RUE_SCALE_DATA_MAX = 32 };

/* Strings are borrowed. */
struct rue_scale_goal {
    const char *data[RUE_SCALE_DATA_MAX]; /* [data_count] */
    size_t data_count;
    struct rue_source_options keys; /* what the data call images and labels */
    const char *runner;             /* NULL: our own */
    const char *models;             /* "none,sleep:2ms/image" */
    const char *device;             /* of models that name none; NULL: the usual one */
    struct rue_knob_choices knobs;  /* batch sizes and workers; the usual ones where they are not named */
    int fixed_batch, fixed_workers; /* 0 and -1: the usual ones */
    uint64_t images;                /* of each trial; 0: one epoch of the first data */
    uint64_t budget_ns;
    uint64_t trial_timeout_ns, memory_bytes, period_ns;
    struct rue_workload workload;
    const char *out; /* NULL: rue-out/<name of the first data>-scale */
    bool fresh;
    bool dry_run; /* nothing is written */
    const char *command_line;
    struct rue_progress *progress;
};

struct rue_scale;

/* Opens each of the data for a probe, and plans. What cannot be opened is noted as at fault; RUE_DATA where
 * that is all of it. RUE_INCONCLUSIVE where the budget is too small; as rue_study_open otherwise. */
rue_status rue_scale_open(const struct rue_scale_goal *goal, struct rue_scale **out,
                          rue_error *error) RUE_MUST_CHECK;
void rue_scale_close(struct rue_scale *scale);

/* Configurations to be tried, all variants and models, and the seconds that it is expected to take. */
size_t rue_scale_trials(const struct rue_scale *scale);
double rue_scale_expected_s(const struct rue_scale *scale);

/* Makes the trials. What went wrong with one of the data is noted, and the others go on: RUE_DATA at the end.
 * RUE_INFEASIBLE when nothing ran; RUE_STORE; RUE_INTERRUPTED and RUE_TERMINATED. There are results in any
 * case. */
rue_status rue_scale_run(struct rue_scale *scale, rue_error *error) RUE_MUST_CHECK;

/* Borrowed. */
const struct rue_scaling *rue_scale_results(const struct rue_scale *scale);

/* Whether the last run in `folder`, whose store holds `trials` in all, was one of `rue scale`; `reason` is
 * then why it ended early, "" where it did not. (scale_files.c) */
bool rue_scale_ran_last(const char *folder, uint64_t trials, char *reason, size_t bytes);

/* Writes summary.csv and sysinfo.json into the folder of the run. RUE_STORE, RUE_MEMORY. (scale_files.c) */
rue_status rue_scale_write(const struct rue_scale *scale, rue_error *error) RUE_MUST_CHECK;

#endif
