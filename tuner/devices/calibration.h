/* Measures the batch times of models on a device through the runner, for a device table. */
#ifndef RUE_CALIBRATION_H
#define RUE_CALIBRATION_H

#include "device_table.h"
#include "json_document.h"
#include "progress.h"
#include "space.h"

/* Strings are borrowed. */
struct rue_calibration_goal {
    const char *models;     /* "resnet50,vit_b_16", without a device */
    const char *device;     /* as typed; sleeping models ignore it */
    const int *batch_sizes; /* [batch_size_count] ascending, at most RUE_PROFILE_POINTS_MAX */
    size_t batch_size_count;
    uint64_t batches;    /* per model and size, after one warm-up batch */
    uint64_t timeout_ns; /* per model and size */
    bool pin_memory;     /* batches for a GPU lie in page-locked memory */
    bool pin_memory_given;
    struct rue_progress *progress;
};

/* The points of a profile are the median batch times. After the first infeasible size, larger ones are not
 * tried. */
struct rue_calibration {
    struct rue_device_table table;

    char reasons[RUE_DEVICE_TABLE_MODELS_MAX][RUE_REASON_BYTES]; /* why the next size is infeasible; "" */
    char note[RUE_REASON_BYTES];                                 /* remark of the runner on the times; "" */
    char title[sizeof((struct rue_profile *)0)->device];
    const char *precision;
    bool on_gpu;
    char runner[128], machine_json[2048];
};

/* RUE_USAGE for an unknown model or device, or a model that names a device; RUE_INFEASIBLE when no size of
 * any model fits; RUE_RUNNER when a trial fails or hangs; RUE_INTERRUPTED, RUE_TERMINATED. */
rue_status rue_calibration_run(const struct rue_calibration_goal *goal, struct rue_calibration *out,
                               rue_error *error) RUE_MUST_CHECK;

/* The table's title as other machines need it: "this machine's GPU (bf16)" becomes "NVIDIA H100 80GB HBM3
 * (bf16)". Other titles stay. */
void rue_calibration_title(const char *device, bool on_gpu, const char *machine_json, char *out,
                           size_t bytes);

/* The device table as JSON that rue_device_table_read accepts, without models that have no feasible size. */
json_t *rue_calibration_json(const struct rue_calibration_goal *goal,
                             const struct rue_calibration *calibration);

#endif
