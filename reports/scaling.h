/* Findings of `rue scale`: each variant's rate by batch size and by workers, and the resources used; as
 * tables, CSV and JSON. */
#ifndef RUE_SCALING_H
#define RUE_SCALING_H

#include "findings.h"
#include "section.h"

/* What all processes used since the sample before. A MB is 1e6 bytes. */
struct rue_usage_sample {
    double time_s; /* on the study's clock, discarded trials included */
    double processes, threads;
    double cpu_percent; /* 100 is one CPU */
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

struct rue_scaling_row {
    size_t variant, model, config;       /* of the findings, and of the variant's matrix */
    const struct rue_trial_row *trial;   /* borrowed */
    bool sampled;                        /* by this run, so there are samples */
    uint64_t discarded_ns;               /* discarded trials before it: in samples, not in started_ns */
    double figures[RUE_SCALING_FIGURES]; /* NaN: unknown */
};

struct rue_scaling {
    const struct rue_findings *findings; /* borrowed */
    int fixed_batch, fixed_workers;      /* of the curves */
    size_t row_count, sample_count;
    struct rue_scaling_row *rows;           /* [row_count] borrowed */
    const struct rue_usage_sample *samples; /* [sample_count] borrowed */
};

/* Sorts the rows by variant, model and configuration, and sums up their use of resources: from the samples,
 * or from the trial itself if these are few. */
void rue_scaling_open(struct rue_scaling *scaling);

/* Images per second; NaN unless it is ok. */
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
