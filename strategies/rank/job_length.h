/* The best configuration as a function of the job's length. Starting many workers only pays off in long
 * jobs. */
#ifndef RUE_JOB_LENGTH_H
#define RUE_JOB_LENGTH_H

#include "selection.h"

/* `config` is the best one for jobs of these lengths. */
struct rue_job_interval {
    uint64_t from_images, to_images; /* inclusive */
    size_t config;
};

enum { RUE_JOB_INTERVALS_MAX = 16 };

struct rue_job_lengths {
    size_t count;                                      /* 0: unknown */
    struct rue_job_interval at[RUE_JOB_INTERVALS_MAX]; /* [count], ascending, without a gap */
};

struct rue_job_length_setup {
    const struct rue_cost_matrix *matrix;  /* of jobs of `job_images` */
    const struct rue_selection *selection; /* of the matrix; with a recommended configuration */
    uint64_t job_images;
    double epsilon_ratio;
    /* Seconds of a job of `images`, at most a few waves longer than the job; NaN: unknown. */
    double (*time_s)(const void *context, size_t model, size_t config, uint64_t images);
    const void *context;
    rue_status (*stop)(void); /* (optional) called often; ends the search with the status that it returns
                                 unless that is RUE_OK */
};

/* Covers lengths from one batch of the smallest size to RUE_JOB_LONGEST times the job. Starting at
 * `job_images`, the answer changes where another configuration is better by more than epsilon (by the
 * objective), located to 10 % of the length. A batch is not larger than the job. Pure, deterministic.
 * RUE_MEMORY. */
enum { RUE_JOB_LONGEST = 1024 };
rue_status rue_job_lengths_find(const struct rue_job_length_setup *setup, struct rue_job_lengths *out,
                                rue_error *error) RUE_MUST_CHECK;

#endif
