/* Scaling experiments: how the rate of each variant grows with the batch size at fixed workers, and with the
 * workers at a fixed batch size. Trials are those of a study, in its store; while one runs, what the
 * processes of the runner use is watched. */
#ifndef RUE_SCALE_H
#define RUE_SCALE_H

#include "gpu.h"
#include "monitor.h"
#include "scaling.h"
#include "study.h"

struct rue_scale {
    int fixed_batch, fixed_workers; /* 0 and -1: the usual ones */
    uint64_t budget_ns, period_ns;
    struct rue_gpu *gpu; /* NULL: there is none */
    struct rue_scaling results;
    size_t model_count, config_count; /* of the results' rows */
    double expected_s;
};

/* What is to be tried on the data of the study, which is open: fills the results' sets and rows, from probes
 * of loader and models. RUE_USAGE; RUE_INCONCLUSIVE where the budget is too small; as rue_study_probe. */
rue_status rue_scale_plan(struct rue_scale *scale, struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

/* Makes the trials. What goes wrong with one of the data is noted, and the others go on: RUE_DATA at the end.
 * RUE_INFEASIBLE when nothing ran; RUE_STORE; RUE_INTERRUPTED and RUE_TERMINATED. There are results in any
 * case. */
rue_status rue_scale_run(struct rue_scale *scale, struct rue_study *study, rue_error *error) RUE_MUST_CHECK;
void rue_scale_close(struct rue_scale *scale);

/* ---- what an experiment leaves beside the store (scale_files.c) ---- */

extern const struct rue_report *const rue_scale_reports[];

/* Letters, digits, '.', '_' and '-' alone: others become '_'. */
void rue_scale_make_plain(char *name);

/* The file of a row's samples, below the folder: "monitor/folder-raw-photos-none-b64-w4.csv". */
void rue_scale_monitor_path(const struct rue_scale *scale, const struct rue_scaling_row *row,
                            char out[PATH_MAX]);

/* RUE_STORE. */
rue_status rue_scale_write_monitor(const struct rue_scale *scale, const struct rue_scaling_row *row,
                                   const struct rue_monitor *monitor, uint64_t trial,
                                   rue_error *error) RUE_MUST_CHECK;

/* Writes summary.csv and sysinfo.json into the study's folder. RUE_STORE, RUE_MEMORY. */
rue_status rue_scale_write(const struct rue_scale *scale, const struct rue_study *study,
                           rue_error *error) RUE_MUST_CHECK;

/* What sysinfo.json of an earlier run in `folder` says of the images of its trials, where its jobs had
 * `job_images`; else 0. */
uint64_t rue_scale_earlier_images(const char *folder, uint64_t job_images);

/* Whether the last run in `folder`, whose store holds `trials` in all, was one of `rue scale`; `reason` is
 * then why it ended early, "" where it did not. */
bool rue_scale_ran_last(const char *folder, uint64_t trials, char *reason, size_t bytes);

#endif
