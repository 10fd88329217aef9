/* What batches of models take on a consumer, measured through the runner: what a device table is made of. */
#ifndef RUE_CALIBRATION_H
#define RUE_CALIBRATION_H

#include "device_table.h"
#include "json_document.h"
#include "progress.h"
#include "space.h"

/* Strings are borrowed. */
struct rue_calibration_goal {
    const char *models;     /* "resnet50,vit_b_16", none of them with a device */
    const char *device;     /* that they run on, as typed; models that just sleep have none */
    const int *batch_sizes; /* [batch_size_count] ascending, at most RUE_PROFILE_POINTS_MAX */
    size_t batch_size_count;
    uint64_t batches;    /* measured of each model and size, after one to warm up */
    uint64_t timeout_ns; /* of a model and size */
    bool pin_memory;     /* batches for a GPU lie in page-locked memory */
    bool pin_memory_given;
    struct rue_progress *progress;
};

/* A model's measured points are its profile's: the median of each size's batches. Sizes from the first that
 * is infeasible on are, and are not tried. */
struct rue_calibration {
    struct rue_device_table table;

    char reasons[RUE_DEVICE_TABLE_MODELS_MAX][RUE_REASON_BYTES]; /* why the next one is not; "" */
    char note[RUE_REASON_BYTES];                                 /* what has to be said of the times; "" */
    char title[sizeof((struct rue_profile *)0)->device];
    const char *precision;
    bool on_gpu; /* it was a GPU */
    char runner[128], machine_json[2048];
};

/* RUE_USAGE for a model or device that there is not, or one that names its device itself; RUE_INFEASIBLE when
 * no size of any model can be had; RUE_RUNNER when a trial fails or hangs; RUE_INTERRUPTED, RUE_TERMINATED.
 */
rue_status rue_calibration_run(const struct rue_calibration_goal *goal, struct rue_calibration *out,
                               rue_error *error) RUE_MUST_CHECK;

/* The title of a table whose models ran on "this machine's GPU (bf16)", for those who read it elsewhere:
 * "NVIDIA H100 80GB HBM3 (bf16)", as the machine's facts have it. Others stay as they are. */
void rue_calibration_title(const char *device, bool on_gpu, const char *machine_json, char *out,
                           size_t bytes);

/* The device table as JSON, as rue_device_table_read has it; models without any size are left out. */
json_t *rue_calibration_json(const struct rue_calibration_goal *goal,
                             const struct rue_calibration *calibration);

#endif
