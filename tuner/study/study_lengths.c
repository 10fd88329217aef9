#include "study_lengths.h"

#include <math.h>
#include <stdlib.h>

#include "interrupt.h"

enum { CELLS_QUICK = 600 };

/* Whose times are asked for. */
struct source {
    const struct rue_study *study;
    size_t variant;
    void *state; /* of the strategy */
};

void rue_study_note_line(const struct rue_study_setup *setup, struct rue_study_outcome *outcome,
                         size_t variant, size_t model, size_t config, const struct rue_trial_result *result)
{
    size_t cells = setup->model_count * setup->config_count;
    if (setup->goal.search.minimise != RUE_GOAL_TIME) return;
    /* Without memory the answer for this job is the only one. */
    if (!outcome->variants[variant].lines)
        outcome->variants[variant].lines = calloc(cells, sizeof *outcome->variants[variant].lines);
    if (!outcome->variants[variant].lines) return;
    outcome->variants[variant].lines[model * setup->config_count + config] = rue_job_line_of(result);
}

static uint64_t consumed(const struct source *source, size_t config, uint64_t images)
{
    return rue_config_images(&source->study->setup.configs[config],
                             source->study->setup.variants[source->variant].workload.drop_last, images);
}

/* What the strategy expects, or the cell's last trial, scaled to the time that the cell has. */
static double time_s(const void *context, size_t model, size_t config, uint64_t images)
{
    const struct source *source = context;
    const struct rue_study *study = source->study;
    uint64_t length = consumed(source, config, images);
    if (study->setup.plan.strategy->job_s)
        return study->setup.plan.strategy->job_s(source->state, model, config, length);
    const struct rue_job_line *line =
        &study->outcome.variants[source->variant].lines[model * study->setup.config_count + config];
    uint64_t job = consumed(source, config, study->setup.variants[source->variant].job_images);
    double cell_ns =
        rue_cost_matrix_cell(study->outcome.variants[source->variant].matrix, model, config)->median_ns;
    return rue_job_line_ns(line, length) * cell_ns / rue_job_line_ns(line, job) / 1e9;
}

/* Whether it takes so little that also a run that a signal ends has the answers for other lengths. */
static bool is_quick(const struct rue_study_setup *setup)
{
    return setup->model_count * setup->config_count <= CELLS_QUICK;
}

rue_status rue_study_find_lengths(struct rue_study *study, size_t variant, void *state, rue_error *error)
{
    struct source source = {study, variant, state};
    struct rue_selection *selection;
    bool known = study->setup.plan.strategy->job_s ||
                 (!rue_study_predicts(&study->setup) && study->outcome.variants[variant].lines);
    if (!known || study->setup.goal.search.minimise != RUE_GOAL_TIME) return RUE_OK;
    rue_status status = rue_ranking_rules_select(&study->setup.goal.search.rules,
                                                 study->outcome.variants[variant].matrix, &selection, error);
    if (status != RUE_OK) return status;
    struct rue_job_question question = {.matrix = study->outcome.variants[variant].matrix,
                                        .selection = selection,
                                        .job_images = study->setup.variants[variant].job_images,
                                        .epsilon_ratio = study->setup.goal.search.epsilon_ratio,
                                        .time_s = time_s,
                                        .context = &source,
                                        .stop = is_quick(&study->setup) ? NULL : rue_interrupt_status};
    if (selection->recommended != RUE_NONE)
        status = rue_job_lengths_find(&question, &study->outcome.variants[variant].lengths, error);
    rue_selection_close(selection);
    bool stopped = status == RUE_INTERRUPTED || status == RUE_TERMINATED;
    return stopped ? RUE_OK : status; /* the answer for this job is worth a report */
}
