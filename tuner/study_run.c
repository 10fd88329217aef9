/* The study driver: ask the strategy, measure, tell, until it has nothing more to ask or the budget is spent.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "job_time.h"
#include "selection.h"
#include "strategy.h"
#include "study.h"
#include "units.h"

enum { SAME_FAILURES_MAX = 5 };

/* The same failure again and again is no accident. */
struct failures {
    char reason[RUE_REASON_BYTES];
    int in_a_row;
};

/* The next character of a reason that counts: numbers say which process, file or address it was this time,
 * not what went wrong. An exit code does say that. */
static char next_telling(const char *reason, const char **at)
{
    static const char code[] = "exit code ";
    const size_t code_bytes = sizeof code - 1;
    while (isdigit((unsigned char)**at)) {
        size_t before = (size_t)(*at - reason);
        if (before >= code_bytes && memcmp(*at - code_bytes, code, code_bytes) == 0) return *(*at)++;
        bool hexadecimal = (*at)[0] == '0' && (*at)[1] == 'x';
        *at += hexadecimal ? 2 + strspn(*at + 2, "0123456789abcdefABCDEF") : strspn(*at, "0123456789");
    }
    return **at ? *(*at)++ : 0;
}

static bool are_alike(const char *a, const char *b)
{
    const char *in_a = a, *in_b = b;
    for (;;) {
        char one = next_telling(a, &in_a), other = next_telling(b, &in_b);
        if (one != other) return false;
        if (!one) return true;
    }
}

static rue_status count_failure(struct failures *failures, const struct rue_trial_result *result,
                                rue_error *error)
{
    if (result->outcome == RUE_TRIAL_INFEASIBLE) return RUE_OK;
    bool bad = result->outcome == RUE_TRIAL_FAILED || result->outcome == RUE_TRIAL_TIMEOUT;
    bool same = bad && are_alike(failures->reason, result->reason);
    failures->in_a_row = bad ? (same ? failures->in_a_row + 1 : 1) : 0;
    snprintf(failures->reason, sizeof failures->reason, "%s", bad ? result->reason : "");
    if (failures->in_a_row < SAME_FAILURES_MAX) return RUE_OK;
    return rue_fail(
        error, RUE_INFEASIBLE,
        "%d trials in a row failed alike, so the rest was not tried: %s; once that is mended, run "
        "the same command to go on",
        failures->in_a_row, result->reason);
}

/* Puts the answer where the rules will look for it. */
static rue_status record(struct rue_study *study, size_t variant, size_t model, size_t config,
                         struct rue_trial_result *result, rue_error *error)
{
    struct rue_cost_matrix *matrix = study->matrices[variant];
    if (result->outcome != RUE_TRIAL_OK) {
        rue_cost_matrix_miss(matrix, model, config, result->outcome, result->reason);
        return RUE_OK;
    }
    bool predicted = false;
    double time_ns = rue_job_time_ns(result, study->variants[variant].job_images,
                                     study->variants[variant].workload.drop_last, &predicted);
    if (isfinite(time_ns) && time_ns > 0)
        return rue_cost_matrix_add(matrix, model, config, time_ns, predicted, error);
    rue_cost_matrix_miss(matrix, model, config, RUE_TRIAL_FAILED, RUE_JOB_TIME_UNKNOWN);
    return RUE_OK;
}

/* "best so far 128/2 (1.8 %)", "" before anything is ranked. */
static void describe_best(const struct rue_study *study, size_t variant, char *out, size_t bytes)
{
    struct rue_selection *selection;
    out[0] = 0;
    if (rue_selection_open(study->matrices[variant], study->goal->top_n, &selection, NULL) != RUE_OK) return;
    if (selection->recommended != RUE_NONE) {
        char label[RUE_CONFIG_TEXT_BYTES];
        rue_config_label(&study->configs[selection->recommended], label);
        snprintf(out, bytes, ", best so far %s (%.1f %%)", label,
                 100 * selection->rows[selection->recommended].mean_regret_ratio);
    }
    rue_selection_close(selection);
}

static void show_progress(struct rue_study *study, size_t done, const struct rue_ask *ask,
                          uint64_t run_start_ns)
{
    if (done > 1 && !rue_progress_due(study->progress)) return;
    char count[64], mode[64], model_name[RUE_MODEL_NAME_BYTES + 1], best[160], label[RUE_CONFIG_TEXT_BYTES];
    char time[RUE_UNIT_TEXT_BYTES], left[RUE_UNIT_TEXT_BYTES + 8];
    size_t variant = ask->scenario / study->model_count, model = ask->scenario % study->model_count;
    uint64_t spent = rue_study_spent_ns(study) - run_start_ns;
    double rest_s = study->plan.expected_s * (double)(study->trials - done) / (double)study->trials;
    if (done > study->trials / 10)
        rest_s = (double)spent / 1e9 / (double)done * (double)(study->trials - done);
    rue_config_label(&study->configs[ask->config], label);
    describe_best(study, variant, best, sizeof best);
    snprintf(count, sizeof count, "trial %zu of %zu: ", done, study->trials);
    snprintf(mode, sizeof mode, "%s ", rue_mode_names[study->variants[variant].variant.mode]);
    snprintf(model_name, sizeof model_name, "%s ", study->models[model].name);
    snprintf(left, sizeof left, ", %s left",
             rue_format_duration((uint64_t)(rest_s * 1e9), time, sizeof time));
    const struct rue_progress_part parts[] = {{0, count}, {2, mode}, {1, model_name},
                                              {0, label}, {4, best}, {3, left}};
    rue_progress_show_parts(study->progress, parts, sizeof parts / sizeof *parts);
}

static rue_status answer(struct rue_study *study, const struct rue_ask *ask, struct rue_trial_result *result,
                         rue_error *error)
{
    size_t variant = ask->scenario / study->model_count, model = ask->scenario % study->model_count;
    const struct rue_study_variant *data = &study->variants[variant];
    struct rue_trial_request request = {.measure = ask->measure, .config = study->configs[ask->config]};
    request.images = rue_plan_images(study->plan.stretch, &request.config, data->job_images);
    request.detail = request.images < data->job_images;
    double expected_ns = study->plan.expected_s * 1e9 / (double)study->trials;
    rue_status status = rue_study_measure(study, variant, model, &request, (size_t)ask->repeat,
                                          (uint64_t)expected_ns, result, error);
    if (status != RUE_OK) return status;
    status = record(study, variant, model, ask->config, result, error);
    if (status != RUE_OK) rue_trial_result_close(result);
    return status;
}

static void mark_partial(struct rue_study *study, const char *why, size_t done)
{
    study->partial = true;
    snprintf(study->partial_reason, sizeof study->partial_reason, "%s after %zu of %zu trials", why, done,
             study->trials);
}

static rue_status loop(struct rue_study *study, const struct rue_strategy_ops *strategy, void *state,
                       rue_error *error)
{
    struct failures failures = {0};
    struct rue_ask ask;
    uint64_t budget = study->goal->budget_ns, run_start_ns = rue_study_spent_ns(study);
    for (size_t done = 0; strategy->ask(state, &ask); done++) {
        rue_status status = rue_interrupt_status();
        if (status != RUE_OK) rue_fail(error, status, "interrupted");
        if (status == RUE_OK && budget && rue_study_spent_ns(study) >= budget) {
            mark_partial(study, "the budget was spent", done);
            return RUE_OK;
        }
        struct rue_trial_result result;
        size_t reused = study->reused;
        if (status == RUE_OK) status = answer(study, &ask, &result, error);
        if (status != RUE_OK) {
            mark_partial(study,
                         status == RUE_INTERRUPTED || status == RUE_TERMINATED ? "interrupted" : "stopped",
                         done);
            return status;
        }
        if (strategy->tell) strategy->tell(state, &ask, &result);
        if (study->reused == reused) status = count_failure(&failures, &result, error);
        rue_trial_result_close(&result);
        if (status != RUE_OK) {
            mark_partial(study, "stopped", done + 1);
            return status;
        }
        show_progress(study, done + 1, &ask, run_start_ns);
    }
    return RUE_OK;
}

rue_status rue_study_run(struct rue_study *study, rue_error *error)
{
    const struct rue_strategy_ops *strategy = rue_strategy_find("grid");
    struct rue_strategy_setup setup = {.scenario_count = study->variant_count * study->model_count,
                                       .config_count = study->config_count,
                                       .configs = study->configs,
                                       .repeats = study->goal->repeats,
                                       .seed = study->goal->workload.seed};
    void *state;
    rue_status status = strategy->open(&setup, &state, error);
    if (status != RUE_OK) return status;
    status = loop(study, strategy, state, error);
    strategy->close(state);
    return status;
}
