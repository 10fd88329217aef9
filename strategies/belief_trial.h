/* What a belief is told of: times, and trials that measured them. */
#ifndef RUE_BELIEF_TRIAL_H
#define RUE_BELIEF_TRIAL_H

#include "belief_fields.h"
#include "pipeline.h"
#include "speed.h"

enum { RUE_BELIEF_OF_LOADER = RUE_PIPELINE_PARAMETER_COUNT, RUE_BELIEF_SLOPES = RUE_BELIEF_OF_LOADER + 2 };

/* A time, of a job or of a part of it. Slopes are those of its logarithm by the logarithms of the loader's
 * parameters, then by those of batch_s and image_s of its consumer, the last two parameters but `consumer`
 * times two. */
struct rue_belief_point {
    struct rue_belief_place place;
    double slopes[RUE_BELIEF_SLOPES];
    size_t consumer;
};

struct rue_belief_trial {
    struct rue_belief_point point;
    double log_ratio; /* of measured over predicted time */
    double noise;     /* variance, for a scale of 1 */
    double unsaid;    /* variance of what such a part does not tell of the job, however often it is tried */
    uint64_t images;
    double seconds;         /* when */
    struct rue_speed speed; /* of the machine then; where it differs the drift is another one */
};

/* The covariance of what two trials have beside what their times are off by, and beside noise: the machine's
 * drift, and what equal parts of a job do not tell of it. */
double rue_belief_shared(const struct rue_belief_trial *a, const struct rue_belief_trial *b);

/* The variance of a trial's drift. */
double rue_belief_drift(void);

#endif
