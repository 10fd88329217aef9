/* The time of a batch as a function of its number of images. */
#ifndef RUE_PROFILE_H
#define RUE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "trial.h"

/* Enough for the JSON of RUE_PROFILE_POINTS_MAX points of ten and twenty digits. */
enum { RUE_PROFILE_POINTS_MAX = 16, RUE_PROFILE_JSON_BYTES = 704 };

/* Upper limit of the time of a batch (146 years), so that sums do not overflow. */
#define RUE_PROFILE_NS_MAX (UINT64_C(1) << 62)

struct rue_architecture;

/* The consumer of batches. For models that compute, the profile has estimates to plan with, or no times
 * before the first measurement. */
enum rue_consumer {
    RUE_CONSUMER_SLEEP, /* sleeps as long as the profile says */
    RUE_CONSUMER_HOST,  /* computes on this machine's CPUs (model_host.h) */
    RUE_CONSUMER_CUDA,  /* computes on this machine's GPU (model_cuda.h) */
};

/* Points in ascending order of batch_size, or, without points, a straight line. */
struct rue_profile {
    char name[RUE_MODEL_NAME_BYTES];
    enum rue_consumer consumer;
    const struct rue_architecture *architecture; /* of a model that computes */
    int cores;                                   /* number of CPUs that it computes on */
    char products[32];                           /* library of the products: "OpenBLAS 0.3.21" */
    enum rue_precision precision;                /* precision of the computation */
    char device[96];                             /* device of these times: "an NVIDIA RTX A5000"; "": none */
    bool measured;                               /* whether the times were measured on the device */
    uint64_t largest_batch;                      /* largest batch that fits into its memory; 0: unknown */
    size_t points;
    uint32_t batch_size[RUE_PROFILE_POINTS_MAX];
    double batch_ns[RUE_PROFILE_POINTS_MAX];
    double per_batch_ns, per_image_ns;
};

/* The time of a batch of `images` in ns, 0 to RUE_PROFILE_NS_MAX. Linear between the points. Outside, on the
 * line through the nearest two points, or through the origin if there is one point. A batch beyond the last
 * point needs at least the time of the last point. */
uint64_t rue_profile_batch_ns(const struct rue_profile *profile, uint64_t images);

/* Whether the time for `images` is measured, or between two measured ones. */
bool rue_profile_is_measured_at(const struct rue_profile *profile, uint64_t images);

/* {"batch_size":[32,128],"batch_ns":[...],"largest_batch":1024} or {"per_batch_ns":...,"per_image_ns":...};
 * for a model that computes
 * {"consumer":"host","cores":2,"products":"OpenBLAS 0.3.21"} or
 * {"consumer":"cuda","precision":"bf16"}, without times. The protocol sends it to a runner, and the
 * store compares it. */
void rue_profile_json(const struct rue_profile *profile, char out[RUE_PROFILE_JSON_BYTES]);

#endif
