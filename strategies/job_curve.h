/* From a joint trial to the time of jobs of other lengths. */
#ifndef RUE_JOB_CURVE_H
#define RUE_JOB_CURVE_H

#include "trial.h"

enum { RUE_JOB_CURVE_POINTS = 48 };

/* When how many batches have been delivered, at points that lie closer at the start. */
struct rue_job_curve {
    double batch_images;
    size_t count;                                                         /* 0: nothing is known */
    double batches[RUE_JOB_CURVE_POINTS], ready_ns[RUE_JOB_CURVE_POINTS]; /* [count], ascending */
    double steady_image_ns;                                               /* behind the last point */
    double consumed_image_ns; /* from the delivery of the last batch until it is consumed */
    double shutdown_ns;
};

/* What an ok joint `result` says: its deliveries where they were told, else the line from its first batch to
 * its last. */
struct rue_job_curve rue_job_curve_of(const struct rue_trial_result *result);

/* The time in ns of a job of `images`, at least 1, with as many images a batch as the trial had; NaN where it
 * is not known. Short of a batch it is that of a whole one, but for consuming it. A trial's last batches had
 * fewer rivals than those of a longer job: a share of a volley (job_time.h) is what that is off. */
double rue_job_curve_ns(const struct rue_job_curve *curve, uint64_t images);

#endif
