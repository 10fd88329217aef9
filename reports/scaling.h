/* What `rue scale` found: how each variant's rate grows with the batch size and with the workers, and what
 * the processes used meanwhile. As curves for people, as CSV and as JSON. */
#ifndef RUE_SCALING_H
#define RUE_SCALING_H

#include "findings.h"
#include "section.h"

/* What all processes used since the sample before. A MB is 1e6 bytes. */
struct rue_usage_sample {
    double time_s; /* on the study's clock, which does not stop for trials that are thrown away */
    double processes, threads;
    double cpu_percent; /* of one CPU: 200 are two */
    double rss_mb;
    double read_mb, write_mb;          /* from and to storage */
    double gpu_percent, gpu_memory_mb; /* NaN without a GPU */
};

enum rue_scaling_figure {
    RUE_SCALING_CPU,
    RUE_SCALING_CPU_PEAK,
    RUE_SCALING_RSS,
    RUE_SCALING_RSS_PEAK,
    RUE_SCALING_READ,
    RUE_SCALING_WRITE,
    RUE_SCALING_GPU,
    RUE_SCALING_GPU_PEAK,
    RUE_SCALING_GPU_MEMORY_PEAK,
    RUE_SCALING_FIGURES
};

/* A configuration that was tried. */
struct rue_scaling_row {
    size_t variant, model, config;     /* of the findings, and of the variant's matrix */
    const struct rue_trial_row *trial; /* borrowed */
    bool watched;                      /* by this run: samples are of its time */
    uint64_t thrown_away_ns;           /* of trials before it; samples count it, the trial's start does not */
    double figures[RUE_SCALING_FIGURES]; /* NaN where it is not known; see rue_scaling_open */
};

struct rue_scaling {
    const struct rue_findings *findings; /* borrowed */
    int fixed_batch, fixed_workers;      /* that the curves keep */
    size_t row_count, sample_count;
    struct rue_scaling_row *rows;           /* [row_count] borrowed */
    const struct rue_usage_sample *samples; /* [sample_count] borrowed */
};

/* Sorts the rows, by variant, model and configuration, and sums up what each used: by the samples, and where
 * these are few by what the trial says of itself. */
void rue_scaling_open(struct rue_scaling *scaling);

/* Images a second; NaN unless it is ok. */
double rue_scaling_rate(const struct rue_scaling_row *row);

/* A table for each curve, and where each saturates. RUE_MEMORY, RUE_STORE. */
rue_status rue_scaling_show(const struct rue_scaling *scaling, const struct rue_report_style *style,
                            FILE *stream, rue_error *error) RUE_MUST_CHECK;

/* "rue.scale/2". RUE_MEMORY, RUE_STORE. */
rue_status rue_scaling_json(const struct rue_scaling *scaling, FILE *stream, rue_error *error) RUE_MUST_CHECK;

/* A line for each point of each curve, and one for each sample. RUE_MEMORY, RUE_STORE. */
rue_status rue_scaling_write_csv(const void *scaling, FILE *stream, rue_error *error) RUE_MUST_CHECK;
rue_status rue_scaling_write_samples(const void *scaling, FILE *stream, rue_error *error) RUE_MUST_CHECK;

/* What the two begin with. */
#define RUE_SCALING_MARK "format,variant,data,"
#define RUE_SAMPLES_MARK "trial,time_s,processes,"

#endif
