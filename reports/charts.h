/* Charts of a study, each with its table. A chart without data is left out. */
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
    char name[PATH_MAX + 128]; /* for people; "": the findings have no other, and it needs no name */
    char slug[64];             /* for file names; different for each variant of the findings */
};
void rue_chart_subject_make(const struct rue_findings *findings, size_t variant,
                            struct rue_chart_subject *out);

/* The model after `model`, from the fastest to the slowest; after RUE_NONE the fastest. Returns RUE_NONE
 * after the slowest. */
size_t rue_chart_next_model(const struct rue_variant_findings *variant, size_t model);

/* Adds a chart of the subject, as rue_page_chart: the name "heat" becomes "heat-raw". */
void rue_charts_add(struct rue_page *page, const struct rue_chart_subject *subject,
                    const struct rue_chart *chart);

/* Whether a configuration differs from the best one only in batch size and workers. */
bool rue_chart_is_in_slice(const struct rue_chart_subject *subject, size_t config);

/* Adds a heat map of mean regret over batch size and workers, where the other knobs are as in the best
 * configuration. (charts_times.c) */
void rue_charts_map(struct rue_page *page, const struct rue_chart_subject *subject);

/* For each other knob that varies, adds a heat map for each of its values. */
void rue_charts_knobs(struct rue_page *page, const struct rue_chart_subject *subject);

/* Adds charts of the time of the job: over workers, for each batch size; over batch size, for each number of
 * workers; over workers, for each model. */
void rue_charts_times(struct rue_page *page, const struct rue_chart_subject *subject);

/* Adds charts of where the time goes, of the first batch, and of the resources used. (charts_trials.c) */
void rue_charts_breakdown(struct rue_page *page, const struct rue_chart_subject *subject,
                          const struct rue_breakdown *breakdown);

/* Adds a chart of all trials by the time when they began, and a table of those that failed. */
void rue_charts_timeline(struct rue_page *page, const struct rue_findings *findings,
                         const struct rue_breakdown *breakdown);

/* Writes a command that repeats a trial. `path`: of its data; "": the command has no data. `own`: the runner
 * is rue's own. `line`: the command of its run, whose option --runner is copied. The workload is added if it
 * is known. Returns false if the runner is not rue's own and `line` does not have it: then the command lacks
 * it. */
enum { RUE_TRIAL_COMMAND_BYTES = 3 * PATH_MAX + 1024 };
bool rue_trial_command(const struct rue_trial_request *request, const char *path, bool own, const char *line,
                       char out[RUE_TRIAL_COMMAND_BYTES]);

/* Adds the answer for each model, the smallest set, and charts: votes and regret, regret and memory, the
 * answer by length of the job. (charts_answers.c) */
void rue_charts_answers(struct rue_page *page, const struct rue_chart_subject *subject);

/* Adds a chart of the total time over epochs, with raw and with preprocessed data. */
void rue_charts_payback(struct rue_page *page, const struct rue_findings *findings,
                        const struct rue_comparison *comparison);

#endif
