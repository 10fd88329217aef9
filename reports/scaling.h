/* Findings of `rue scale`: each variant's rate by batch size and by workers, and the resources used. */
#ifndef RUE_SCALING_H
#define RUE_SCALING_H

#include "findings.h"
#include "section.h"

/* Resources that all processes used since the previous sample. 1 MB is 1e6 bytes. */
struct rue_usage_sample {
    double time_s; /* on the study's clock, including discarded trials */
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
    size_t variant, model, config;         /* of the findings, and of the variant's matrix */
    uint64_t trial, started_ns;            /* its number; on the study's clock */
    uint64_t loaders;                      /* that ran at the same time */
    const struct rue_trial_result *result; /* borrowed */
    bool sampled;                          /* measured by this run, so there are samples */
    uint64_t discarded_ns;                 /* time of discarded trials before it, which started_ns excludes */
    double figures[RUE_SCALING_FIGURES];   /* NaN: unknown */
};

struct rue_scaling {
    const struct rue_findings *findings; /* borrowed */
    int fixed_batch, fixed_workers;      /* of the curves */
    size_t row_count, sample_count;
    struct rue_scaling_row *rows;           /* [row_count] borrowed */
    const struct rue_usage_sample *samples; /* [sample_count] borrowed */
};

/* Sorts the rows by variant, model and configuration, and fills in the figures of each. They come from its
 * samples, or from the trial itself if there are at most 3 samples. */
void rue_scaling_open(struct rue_scaling *scaling);

/* Images per second of all loaders; NaN: the trial is not ok. */
double rue_scaling_rate(const struct rue_scaling_row *row);

/* Writes a table for each curve, and the point where it saturates. RUE_MEMORY, RUE_STORE. */
rue_status rue_scaling_show(const struct rue_scaling *scaling, const struct rue_report_style *style,
                            FILE *stream, rue_error *error) RUE_MUST_CHECK;

/* Writes JSON "rue.scale/2". RUE_MEMORY, RUE_STORE. */
rue_status rue_scaling_json(const struct rue_scaling *scaling, FILE *stream, rue_error *error) RUE_MUST_CHECK;

/* Write CSV: a line for each point of each curve; a line for each sample. RUE_MEMORY, RUE_STORE. */
rue_status rue_scaling_write_csv(const void *scaling, FILE *stream, rue_error *error) RUE_MUST_CHECK;
rue_status rue_scaling_write_samples(const void *scaling, FILE *stream, rue_error *error) RUE_MUST_CHECK;

/* The first bytes of these two files. */
#define RUE_SCALING_MARK "format,variant,data,"
#define RUE_SAMPLES_MARK "trial,time_s,processes,"

#endif
