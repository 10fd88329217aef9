/* What `rue scale` found: how each variant's rate grows with the batch size and with the workers, and what
 * the processes used meanwhile. Rendered as a table of curves, as summary.csv and as JSON. */
#ifndef RUE_SCALING_H
#define RUE_SCALING_H

#include <jansson.h>
#include <stdio.h>

#include "json_document.h"
#include "report.h"
#include "trial.h"

/* NaN where it is not known. A MB is 1e6 bytes. */
struct rue_scaling_figure {
    double mean, peak;
};

struct rue_scaling_usage {
    struct rue_scaling_figure cpu_percent; /* of one CPU: 200 are two */
    struct rue_scaling_figure rss_mb, pss_mb, gpu_percent, gpu_memory_mb;
    double read_mb, write_mb; /* from and to storage */
    size_t samples;           /* 0: it was not watched */
};

struct rue_scaling_usage rue_scaling_usage_unknown(void);

/* What the trial says of itself, where that is more than samples can tell: the bytes read; the peak of
 * memory; and where there were but a few samples CPU and the mean of memory, too. */
void rue_scaling_usage_complete(struct rue_scaling_usage *usage, const struct rue_trial_result *result);

/* One of the data. */
struct rue_scaling_set {
    struct rue_variant variant;
    char dataset[128];            /* the last part of its path */
    char digest[32];              /* of what it holds, as the runner says */
    char cache[16];               /* of its trials: "warm", ... */
    enum rue_dtype batch_dtype;   /* of theirs */
    char fault[RUE_REASON_BYTES]; /* why it was given up; "" : it was not */
    uint64_t images;              /* that it holds; 0: not known */
};

/* One configuration of one variant with one model. */
struct rue_scaling_row {
    size_t set;
    char model[RUE_MODEL_NAME_BYTES];
    struct rue_config config;
    bool of_batches, of_workers; /* the curves that it is a point of */
    bool tried;                  /* else what follows is empty */
    enum rue_outcome outcome;
    char reason[RUE_REASON_BYTES];
    uint64_t images, batches;
    double elapsed_s, first_batch_s;
    int64_t cache_missed; /* 1: not warm, or cold, as the set says; RUE_ABSENT */
    struct rue_scaling_usage usage;
    char timestamp[32]; /* ISO 8601, UTC, of its end */
};

struct rue_scaling {
    size_t set_count, row_count;
    struct rue_scaling_set *sets;
    struct rue_scaling_row *rows; /* by set, model, configuration in grid order */
    struct rue_config fixed;      /* the workers of the batches' curve, the batch size of the workers' */
    uint64_t job_images, trial_images;
    int batch_sizes_left_out; /* of the usual ones, as they are larger than the job */
    char folder[PATH_MAX];
    char partial_reason[160]; /* "" : all of it was tried */
};

/* Images a second; NaN unless it is ok. */
double rue_scaling_rate(const struct rue_scaling_row *row);

/* The fastest row of a set and a model, the first of equal ones; RUE_SCALING_NONE where there is none. */
#define RUE_SCALING_NONE SIZE_MAX
size_t rue_scaling_best(const struct rue_scaling *scaling, size_t set, const char *model);

/* The tables: a curve for each variant and model, and the best of each. RUE_MEMORY, RUE_STORE. */
rue_status rue_scaling_show(const struct rue_scaling *scaling, const struct rue_report_style *style,
                            FILE *stream, rue_error *error) RUE_MUST_CHECK;

/* summary.csv: a line a row that was tried. RUE_STORE. */
rue_status rue_scaling_write_csv(const struct rue_scaling *scaling, FILE *stream,
                                 rue_error *error) RUE_MUST_CHECK;

/* A new reference; NULL without memory. */
json_t *rue_scaling_json(const struct rue_scaling *scaling);

/* What the set is, as part of a document. */
json_t *rue_scaling_set_json(const struct rue_scaling_set *set);

#endif
