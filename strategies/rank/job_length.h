/* Which configuration is best for jobs of which length: the answer changes with that, as starting many
 * workers pays off in the long run only. */
#ifndef RUE_JOB_LENGTH_H
#define RUE_JOB_LENGTH_H

#include "selection.h"

/* Jobs from so many images to so many, whose best configuration is `config`. */
struct rue_job_interval {
    uint64_t from_images, to_images; /* inclusive */
    size_t config;
};

enum { RUE_JOB_INTERVALS_MAX = 16 };

struct rue_job_lengths {
    size_t count;                                      /* 0: not known */
    struct rue_job_interval at[RUE_JOB_INTERVALS_MAX]; /* [count], ascending, without a gap */
};

struct rue_job_length_setup {
    const struct rue_cost_matrix *matrix; /* of jobs of `job_images` */
    const struct rue_selection
        *selection; /* of the matrix; what is ranked is looked at, and one is recommended */
    uint64_t job_images;
    double epsilon_ratio;
    /* Seconds of a job of `images`, never of more than a few volleys beyond the job; NaN where not known. */
    double (*time_s)(const void *context, size_t model, size_t config, uint64_t images);
    const void *context;
    rue_status (*stop)(void); /* (optional) asked often; what it returns other than RUE_OK ends the search */
};

/* From one batch of the smallest size to RUE_JOB_LONGEST times the job. Another configuration is the answer
 * where the one that is the answer for jobs nearer to `job_images` is worse by more than epsilon (of what the
 * rules judge by), to a tenth of the length. A batch is not larger than the job. Pure,
 * deterministic. RUE_MEMORY. */
enum { RUE_JOB_LONGEST = 1024 };
rue_status rue_job_lengths_find(const struct rue_job_length_setup *question, struct rue_job_lengths *out,
                                rue_error *error) RUE_MUST_CHECK;

#endif
