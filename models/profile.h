/* What a model costs: the time of a batch as a function of its images. */
#ifndef RUE_PROFILE_H
#define RUE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trial.h"

/* The JSON of RUE_PROFILE_POINTS_MAX points of ten and twenty digits fits. */
enum { RUE_PROFILE_POINTS_MAX = 16, RUE_PROFILE_JSON_BYTES = 640 };

/* No batch is taken to last longer (146 years), so that sums of a few do not overflow. */
#define RUE_PROFILE_NS_MAX (UINT64_C(1) << 62)

/* Measured points, ascending in batch_size, or, without points, a straight line. */
struct rue_profile {
    char name[RUE_MODEL_NAME_BYTES];
    char device[96];        /* whose times these are, "" when nobody's: "an NVIDIA RTX A5000" */
    bool measured;          /* there, and not estimated or said */
    uint64_t largest_batch; /* of what fits into its memory; 0: nobody knows */
    size_t points;
    uint32_t batch_size[RUE_PROFILE_POINTS_MAX];
    double batch_ns[RUE_PROFILE_POINTS_MAX];
    double per_batch_ns, per_image_ns;
};

/* The time of a batch of `images` in ns: linear between the measured points, the line through the nearest two
 * points outside of them, through the origin where there is but one; between 0 and RUE_PROFILE_NS_MAX. */
uint64_t rue_profile_batch_ns(const struct rue_profile *profile, uint64_t images);

/* {"batch_size":[32,128],"batch_ns":[...],"largest_batch":1024} or {"per_batch_ns":...,"per_image_ns":...}:
 * how the protocol tells a foreign runner what to simulate, and what the store compares. */
void rue_profile_json(const struct rue_profile *profile, char out[RUE_PROFILE_JSON_BYTES]);

#endif
