/* The inside of scale.h, for the files that it is made of. */
#ifndef RUE_SCALE_RUN_H
#define RUE_SCALE_RUN_H

#include "monitor.h"
#include "scale.h"

struct rue_scale {
    struct rue_scale_goal goal;
    struct rue_scaling results;
    struct rue_gpu *gpu; /* NULL: there is none */
    size_t model_count, config_count;
    char models[RUE_STUDY_MODELS_MAX][RUE_MODEL_NAME_BYTES];
    double *rates; /* [sets][models] images a second of the fixed configuration, as probed */
    int cpus;
    bool fresh;        /* of the next study that is opened */
    uint64_t spent_ns; /* by studies that are closed */
    size_t done;       /* rows */
    double expected_s;
    uint64_t store_trials; /* that the store held when the last study was closed */
    char runner[128], runner_machine[2048], started[32], libraries[256];
};

/* One of the data, for a study of it. */
struct rue_scale_part {
    struct rue_scale *scale;
    size_t set;
};

/* Letters, digits, '.', '_' and '-' alone: others become '_'. */
void rue_scale_make_plain(char *name);

/* The file of a row's samples, below the folder: "monitor/folder-raw-photos-none-b64-w4.csv". */
void rue_scale_monitor_path(const struct rue_scale *scale, const struct rue_scaling_row *row,
                            char out[PATH_MAX]);

/* What an experiment writes beside the store and the samples. */
extern const struct rue_report *const rue_scale_reports[];

/* RUE_STORE. */
rue_status rue_scale_write_monitor(const struct rue_scale *scale, const struct rue_scaling_row *row,
                                   const struct rue_monitor *monitor, uint64_t trial,
                                   rue_error *error) RUE_MUST_CHECK;

/* What sysinfo.json of an earlier run in `folder` says of the images of its trials, where its jobs had
 * `job_images`; else 0. */
uint64_t rue_scale_earlier_images(const char *folder, uint64_t job_images);

/* Opens each of the data, probes it, and fills the results' sets and rows. As rue_scale_open. */
rue_status rue_scale_plan(struct rue_scale *scale, rue_error *error) RUE_MUST_CHECK;

/* What a study of one of the data asks for: a probe, which keeps nothing, or the trials. */
void rue_scale_study_goal(const struct rue_scale *scale, size_t set, bool probe, struct rue_study_goal *out);

/* The expected seconds of a row's trial. */
double rue_scale_row_s(const struct rue_scale *scale, const struct rue_scaling_row *row);

#endif
