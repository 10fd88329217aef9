/* The ok trials that a forecast is made of, in the order of asking. */
#ifndef RUE_TRIAL_LOG_H
#define RUE_TRIAL_LOG_H

#include "pipeline.h"
#include "question.h"

struct rue_logged_trial {
    size_t model, config;
    uint64_t images, batches;
    struct rue_pipeline_times times; /* NaN where not told; a shutdown that is not told is none */
    double consumer_s;               /* of the consumer's thread; NaN where not told */
    double cpu_ratio;                /* CPU seconds per second; NaN where not told */
    double seconds;                  /* when */
    size_t trial;                    /* its number, as of struct rue_ask */
    struct rue_speed speed;          /* of the machine then */
};

struct rue_trial_log {
    size_t count, capacity;
    struct rue_logged_trial *at; /* [count] */
};

struct rue_logged_trial rue_logged_trial_of(const struct rue_ask *ask, const struct rue_trial_result *result,
                                            double seconds);

/* What the consumer's thread takes without a model, of load trials. */
struct rue_pipeline_consumer rue_trial_log_hand(const struct rue_trial_log *loads);

#endif
