/* Charts of a study, each with its table. Charts of data that a study does not have are left out. */
#ifndef RUE_CHARTS_H
#define RUE_CHARTS_H

#include "breakdown.h"
#include "comparison.h"
#include "findings.h"
#include "section.h"

/* The variant that charts are about. */
struct rue_chart_subject {
    const struct rue_findings *findings;
    const struct rue_variant_findings *variant;
    char name[PATH_MAX + 128]; /* for people */
    char slug[64];             /* for file names; different for each variant of the findings */
};
void rue_chart_subject_make(const struct rue_findings *findings, size_t variant,
                            struct rue_chart_subject *out);

/* The next model from the fastest to the slowest; RUE_NONE begins, and is after the last. */
size_t rue_chart_next_model(const struct rue_variant_findings *variant, size_t model);

/* The name of a chart: "heat-raw". Returns `out`. */
enum { RUE_CHART_NAME_BYTES = 96 };
const char *rue_chart_name(const struct rue_chart_subject *subject, const char *kind,
                           char out[RUE_CHART_NAME_BYTES]);

/* Whether a configuration differs from the best one only in batch size and workers. */
bool rue_chart_is_in_slice(const struct rue_chart_subject *subject, size_t config);

/* Mean regret by batch size and workers, the other knobs as in the best configuration; then a chart with a
 * panel per value for each other knob that varies. (charts_times.c) */
void rue_charts_grid(struct rue_page *page, const struct rue_chart_subject *subject);

/* Only the first of them. */
void rue_charts_map(struct rue_page *page, const struct rue_chart_subject *subject);

/* The time of the job: fixed batch size over workers, fixed workers over batch size, fixed model over both.
 */
void rue_charts_times(struct rue_page *page, const struct rue_chart_subject *subject);

/* Where the time goes; the time to the first batch; CPU, memory and storage. (charts_trials.c) */
void rue_charts_breakdown(struct rue_page *page, const struct rue_chart_subject *subject,
                          const struct rue_breakdown *breakdown);

/* All trials in the order in which they ran. */
void rue_charts_timeline(struct rue_page *page, const struct rue_findings *findings,
                         const struct rue_breakdown *breakdown);

/* A command that makes one trial like `request`. `path`: of its data; "": without it. `runner`: its
 * name; `line`: the command of its run, whose --runner is added. The workload is included if it is known.
 * Returns false, and a command without the runner, if that is not rue's own and not in the line. */
enum { RUE_TRIAL_COMMAND_BYTES = 3 * PATH_MAX + 1024 };
bool rue_trial_command(const struct rue_trial_request *request, const char *path, const char *runner,
                       const char *line, char out[RUE_TRIAL_COMMAND_BYTES]);

/* Regret against memory, votes against regret, the answer by length of the job, the smallest set.
 * (charts_answers.c) */
void rue_charts_answers(struct rue_page *page, const struct rue_chart_subject *subject);

/* Total time of raw and of preprocessed data over epochs. */
void rue_charts_payback(struct rue_page *page, const struct rue_findings *findings,
                        const struct rue_comparison *comparison);

#endif
