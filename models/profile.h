/* What a model costs: the time of a batch as a function of its images. */
#ifndef RUE_PROFILE_H
#define RUE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "trial.h"

/* The JSON of RUE_PROFILE_POINTS_MAX points of ten and twenty digits fits. */
enum { RUE_PROFILE_POINTS_MAX = 16, RUE_PROFILE_JSON_BYTES = 704 };

/* No batch is taken to last longer (146 years), so that sums of a few do not overflow. */
#define RUE_PROFILE_NS_MAX (UINT64_C(1) << 62)

struct rue_architecture;

/* What is done with a batch. Of those that really work the times here are estimates, to plan with, or there
 * are none until it was measured. */
enum rue_consumer {
    RUE_CONSUMER_SLEEP, /* waits for as long as the profile says */
    RUE_CONSUMER_HOST,  /* computes on this machine's CPUs (model_host.h) */
    RUE_CONSUMER_CUDA,  /* computes on the GPU at hand (model_cuda.h) */
};

/* Measured points, ascending in batch_size, or, without points, a straight line. */
struct rue_profile {
    char name[RUE_MODEL_NAME_BYTES];
    enum rue_consumer consumer;
    const struct rue_architecture *architecture; /* of one that really works */
    int cores;                                   /* of the host's CPUs that it works on */
    char products[32];                           /* what multiplies there: "OpenBLAS 0.3.21" */
    enum rue_precision precision;                /* that the device computes with */
    char device[96];        /* whose times these are, "" when nobody's: "an NVIDIA RTX A5000" */
    bool measured;          /* there, and not estimated or said */
    uint64_t largest_batch; /* of what fits into its memory; 0: nobody knows */
    size_t points;
    uint32_t batch_size[RUE_PROFILE_POINTS_MAX];
    double batch_ns[RUE_PROFILE_POINTS_MAX];
    double per_batch_ns, per_image_ns;
};

/* The time of a batch of `images` in ns: linear between the measured points, the line through the nearest two
 * points outside of them, through the origin where there is but one; between 0 and RUE_PROFILE_NS_MAX, and no
 * batch beyond the points takes less than the last, however their noise would have it. */
uint64_t rue_profile_batch_ns(const struct rue_profile *profile, uint64_t images);

/* Whether that is a measured time, or lies between two of them. */
bool rue_profile_is_measured_at(const struct rue_profile *profile, uint64_t images);

/* {"batch_size":[32,128],"batch_ns":[...],"largest_batch":1024} or {"per_batch_ns":...,"per_image_ns":...};
 * of one that really works
 * {"consumer":"host","cores":2,"products":"OpenBLAS 0.3.21"} or
 * {"consumer":"cuda","precision":"bf16"}, whatever its times: how the protocol tells a runner what to
 * simulate, and what the store compares. */
void rue_profile_json(const struct rue_profile *profile, char out[RUE_PROFILE_JSON_BYTES]);

#endif
