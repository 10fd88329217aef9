#include "check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "findings_fill.h"
#include "flight.h"
#include "interrupt.h"
#include "json_canonical.h"
#include "machine.h"
#include "plan.h"
#include "prose.h"
#include "recommendation_file.h"
#include "source.h"
#include "study_outcome.h"
#include "study_search.h"
#include "table.h"
#include "units.h"

static const double confidence = RUE_DEFAULT_CONFIDENCE;
static const double least_margin_ratio = RUE_DEFAULT_EPSILON; /* smaller differences do not matter */

__attribute__((format(printf, 2, 3))) static void note_difference(struct rue_check *check, const char *format,
                                                                  ...)
{
    if (check->difference_count == RUE_CHECK_DIFFERENCES_MAX) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(check->differences[check->difference_count++], sizeof *check->differences, format, arguments);
    va_end(arguments);
}

struct checking {
    const struct rue_check_goal *goal;
    struct rue_check *out;
    const char *data;
    char gpu_list[16];                /* "0..3" */
    struct rue_model_weight *weights; /* [models of the part]; owned */
};

static struct rue_ranking_rules ranking_rules(const struct rue_recommended *part,
                                              struct rue_model_weight *weights)
{
    size_t count = part->matrix->model_count;
    for (size_t m = 0; m < count; m++)
        weights[m] = (struct rue_model_weight){part->matrix->models[m], part->weights[m]};
    return (struct rue_ranking_rules){.top_n = 1,
                                      .objective = part->objective,
                                      .confidence = RUE_DEFAULT_CONFIDENCE,
                                      .weight_count = count,
                                      .weights = weights};
}

/* The goal of a study that repeats the part. Each of several loaders gets its own GPU. */
static struct rue_study_goal study_goal(struct checking *checking)
{
    const struct rue_check_goal *goal = checking->goal;
    const struct rue_recommended *part = goal->part;
    const struct rue_workload workload = part->found.job.workload;
    uint64_t loaders = rue_workload_loaders(&workload);
    const struct rue_variant *data = &part->found.variant;
    snprintf(checking->gpu_list, sizeof checking->gpu_list, "0..%" PRIu64, loaders - 1);
    struct rue_study_goal out = {.data.count = checking->data ? 1 : 0,
                                 .data.paths = &checking->data,
                                 .data.keys = {.image_key = data->image_key[0] ? data->image_key : NULL,
                                               .label_key = data->label_key[0] ? data->label_key : NULL,
                                               .subset = data->subset[0] ? data->subset : NULL},
                                 .loader.runner = goal->runner,
                                 .loader.deployment = goal->deployment,
                                 .loader.trial_timeout_ns = goal->trial_timeout_ns,
                                 .loader.memory_bytes = goal->memory_bytes,
                                 .loader.workload = workload,
                                 .job.images = part->found.job.images * loaders,
                                 .search.budget.time_ns = goal->budget_ns,
                                 .search.max_first_batch_ns = part->max_first_batch_ns,
                                 .search.epsilon_ratio =
                                     goal->max_regret_ratio > 0
                                         ? goal->max_regret_ratio
                                         : fmax(least_margin_ratio, part->found.claim.bound_ratio),
                                 .search.confidence = confidence,
                                 .search.repeats = 1,
                                 .search.rules = ranking_rules(part, checking->weights),
                                 .search.prior = goal->earlier,
                                 .search.checked = goal->part,
                                 .output.keep_nothing = true,
                                 .output.command_line = goal->command_line};
    if (part->found.job.deployment.gpus) out.loader.deployment.gpu_list = checking->gpu_list;
    out.data.modes[part->found.variant.mode] = true;
    return out;
}

const char *rue_check_obstacle(const struct rue_recommended *part, const char *data)
{
    struct rue_variant found;
    bool detected = data && rue_source_detect(data, NULL, &found, NULL) == RUE_OK;
    if (strcmp(part->measured_with, RUE_TABLE_LOADER) == 0)
        return "its times come from a CSV table, so no trial can be repeated";
    if (part->best == RUE_NONE) return "it recommends no configuration";
    if (!rue_findings_mode_is_known(&part->found) || !part->found.job.images)
        return "it does not name its data and its job";
    if (part->found.data.sample && !data)
        return "its data were a converted sample, which was removed: give data of the same format";
    if (detected && found.mode != part->found.variant.mode)
        return found.mode == RUE_RAW ? "the given data are raw, and it is about preprocessed data"
                                     : "the given data are preprocessed, and it is about raw data";
    if (part->found.goal != RUE_GOAL_TIME)
        return "its goal is not the time of the job, and a check predicts only that";
    return "";
}

/* A caller's steps follow the data's digest after a '-', and may be others in a check. */
static bool is_same_data(const char *a, const char *b)
{
    size_t length = strcspn(a, "-");
    return length == strcspn(b, "-") && strncmp(a, b, length) == 0;
}

static void compare_circumstances(const struct rue_study_setup *setup, const struct rue_check_goal *goal,
                                  struct rue_check *out)
{
    const struct rue_recommendation *earlier = goal->earlier;
    const struct rue_hello *hello = rue_study_hello(setup);
    struct rue_machine machine = rue_machine_read();
    char words[sizeof hello->machine_json + 64];
    rue_json_canonical(hello->machine_json, words, sizeof words);
    if (strcmp(machine.cpu, earlier->found.machine.cpu) != 0)
        note_difference(out, "the processor is %s, was %s", machine.cpu,
                        *earlier->found.machine.cpu ? earlier->found.machine.cpu : "unknown");
    if (machine.usable_cpus != earlier->found.machine.usable_cpus)
        note_difference(out, "%d CPUs are usable, were %d", machine.usable_cpus,
                        earlier->found.machine.usable_cpus);
    if (strcmp(words, earlier->found.machine.json) != 0)
        note_difference(out, "the runner reports another machine");
    if (strcmp(hello->runner, earlier->found.runner.name) != 0)
        note_difference(out, "the runner is %s, was %s", hello->runner, earlier->found.runner.name);
    if (strcmp(RUE_VERSION, earlier->found.run.rue_version) != 0)
        note_difference(out, "rue is %s, was %s", RUE_VERSION, earlier->found.run.rue_version);
    if (!is_same_data(setup->variants[0].opened.digest, goal->part->found.data.digest))
        note_difference(out, "the data are not those of the study");
    if (setup->model_count < goal->part->matrix->model_count)
        note_difference(out, "only %zu of the %zu models are known here", setup->model_count,
                        goal->part->matrix->model_count);
}

/* ---- trials ---- */

/* A configuration whose first batch is clearly too late is infeasible, as in the study. */
static void limit_first_batch(const struct rue_study_setup *setup, struct rue_trial_result *result)
{
    char first[RUE_UNIT_TEXT_BYTES], limit[RUE_UNIT_TEXT_BYTES];
    uint64_t limit_ns = setup->goal.search.max_first_batch_ns;
    if (!limit_ns || (double)result->first_batch_ns <= RUE_RECHECK_LATE * (double)limit_ns) return;
    result->outcome = RUE_TRIAL_INFEASIBLE;
    snprintf(result->reason, sizeof result->reason, "its first batch comes after %s, and the limit is %s",
             rue_format_duration((uint64_t)result->first_batch_ns, first, sizeof first),
             rue_format_duration(limit_ns, limit, sizeof limit));
}

/* Nanoseconds for as many images as were loaded; NaN if it is not ok. */
static double expected_ns(const struct rue_study_setup *setup, const struct rue_ledger_row *row,
                          const struct rue_trial_result *result)
{
    const struct rue_prior *prior = &setup->priors[0].prior;
    if (result->outcome != RUE_TRIAL_OK) return NAN;
    return exp(prior->offsets[row->model * setup->config_count + row->config]) *
           rue_knowledge_job_s(prior->knowledge, row->model, &row->trial.config, (uint64_t)result->images) *
           1e9;
}

/* ---- comparison with the baseline ---- */

/* Expected seconds of whole jobs of both configurations on every model; infinite if unknown. */
static double baseline_trials_s(const struct rue_study_setup *setup, const struct rue_recommended *part,
                                double time_ratio)
{
    double sum = 0;
    for (size_t m = 0; m < setup->model_count; m++) {
        size_t own = rue_cost_matrix_model(part->matrix, setup->models[m].name);
        if (own == RUE_NONE) return INFINITY;
        sum +=
            rue_recommended_s(part, own, part->best) + rue_recommended_s(part, own, part->baseline->config);
    }
    sum *= time_ratio;
    return isfinite(sum) ? sum : INFINITY;
}

/* Measures a whole job of each configuration on every model and adds the successful ones to the matrix. */
static rue_status measure_with_baseline(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                        const char *name, struct rue_cost_matrix *matrix, rue_error *error)
{
    for (size_t i = 0; i < 2 * setup->model_count; i++) {
        struct rue_flight flight = {.at.model = i / 2,
                                    .request = {.measure = RUE_JOINT,
                                                .config = matrix->configs[i % 2],
                                                .images = setup->variants[0].job_images}};
        rue_status status = rue_interrupt_status();
        if (status != RUE_OK) return rue_fail(error, status, "interrupted");
        rue_progress_show(setup->progress, "comparing with %s: %s", name, setup->models[i / 2].name);
        status = rue_study_measure(setup, ledger, &flight, RUE_STUDY_NEW_TRIAL, error);
        if (status != RUE_OK) return status;
        if (flight.result.outcome == RUE_TRIAL_OK)
            status =
                rue_cost_matrix_add(matrix, i / 2, i % 2, (double)flight.result.end_to_end_ns, false, error);
        rue_trial_result_close(&flight.result);
        if (status != RUE_OK) return status;
    }
    return RUE_OK;
}

/* Compares with the baseline if the budget allows whole jobs of both. */
static rue_status check_baseline(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 const struct rue_check_goal *goal, struct rue_check *out, rue_error *error)
{
    const struct rue_recommended *part = goal->part;
    const char *names[RUE_STUDY_MODELS_MAX];
    struct rue_cost_matrix *matrix;
    struct rue_selection *selection = NULL;
    double budget_s = ((double)goal->budget_ns - (double)rue_study_spent_ns(setup, ledger)) / 1e9;
    if (!part->baseline || baseline_trials_s(setup, part, out->findings.time_ratio) > budget_s) return RUE_OK;
    for (size_t m = 0; m < setup->model_count; m++) names[m] = setup->models[m].name;
    out->baseline = part->matrix->configs[part->baseline->config];
    snprintf(out->baseline_name, sizeof out->baseline_name, "%s", part->baseline->name);
    const struct rue_config pair[] = {out->config, out->baseline};
    rue_status status = rue_cost_matrix_open(pair, 2, names, setup->model_count, &matrix, error);
    if (status != RUE_OK) return status;
    status = measure_with_baseline(setup, ledger, part->baseline->name, matrix, error);
    if (status == RUE_OK)
        status = rue_ranking_rules_select(&setup->goal.search.rules, matrix, &selection, error);
    if (status == RUE_OK && rue_speedup_find(matrix, selection, 0, 1, confidence, &out->gain) &&
        out->gain.high < 1) {
        out->findings.verdict = RUE_RECHECK_BEATEN;
        out->findings.excess_ratio = 1 / out->gain.ratio - 1;
        out->best = out->baseline;
    }
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
    return status;
}

/* ---- the check ---- */

static void fill_check(const struct rue_study *study, const struct rue_findings *findings,
                       struct rue_check *out)
{
    out->changes = findings->changes;
    out->changes.notice_count = out->changes.dropped_count = 0; /* they end with the study */
    out->findings = study->outcome.recheck;
    out->config = study->setup.configs[study->setup.priors[0].prior.config];
    out->best = study->setup.configs[study->outcome.recheck.best];
    struct rue_trial_row *trials = out->trials;
    while (out->trial_count < RUE_CHECK_TRIALS_MAX &&
           findings->row_at(findings->row_context, out->trial_count, &trials[out->trial_count])) {
        size_t i = out->trial_count++;
        if (trials[i].result.outcome == RUE_TRIAL_OK) limit_first_batch(&study->setup, &trials[i].result);
        out->expected_ns[i] = expected_ns(&study->setup, &study->ledger.rows[i], &trials[i].result);
    }
}

/* A configuration that holds is then compared with the baseline. */
static rue_status make_check(const struct checking *checking, const struct rue_study_goal *requested,
                             rue_error *error)
{
    const struct rue_check_goal *goal = checking->goal;
    struct rue_check *out = checking->out;
    struct rue_study *study = NULL;
    struct rue_findings *findings = NULL;
    rue_status status = rue_study_open(requested, goal->progress, &study, error);
    if (status == RUE_OK) status = rue_study_plan(study, error);
    if (status == RUE_OK) compare_circumstances(&study->setup, goal, out);
    if (status == RUE_OK) status = rue_study_run(study, error);
    rue_progress_close(goal->progress);
    if (status == RUE_OK) status = rue_study_findings(study, &findings, error);
    if (status == RUE_OK) fill_check(study, findings, out);
    if (status == RUE_OK && out->findings.verdict == RUE_RECHECK_HOLDS)
        status = check_baseline(&study->setup, &study->ledger, goal, out, error);
    rue_findings_close(findings);
    rue_study_close(study);
    return status;
}

/* Whether only a Python program has the loader, and none is here. */
static bool lacks_loader(const struct rue_check_goal *goal)
{
    const struct rue_variant *variant = &goal->part->found.variant;
    return !goal->data && !variant->path[0] && rue_runner_address_is_own(&goal->runner) &&
           strcmp(variant->format, "loader") == 0;
}

rue_status rue_check_run(const struct rue_check_goal *goal, struct rue_check *out, rue_error *error)
{
    const struct rue_variant *variant = &goal->part->found.variant;
    struct checking checking = {goal, out, .data = goal->data};
    *out = (struct rue_check){.findings = {.verdict = RUE_RECHECK_UNTRIED}};
    out->worst = goal->part->objective == RUE_OBJECTIVE_WORST;
    snprintf(out->skipped, sizeof out->skipped, "%s", rue_check_obstacle(goal->part, goal->data));
    if (out->skipped[0]) return RUE_OK;
    if (goal->deployment.launcher.words && !goal->part->found.job.deployment.ranks)
        return rue_fail(error, RUE_USAGE,
                        "--launch: the recommendation is not for ranks of a launcher; remove the option");
    if (lacks_loader(goal))
        return rue_fail(error, RUE_USAGE,
                        "%s is about a loader of a Python program: there, call "
                        "rue_tuner.load(\"%s\").check(loader); or give the --runner that measured it",
                        goal->earlier->path, goal->earlier->path);
    if (!goal->data && variant->path[0]) checking.data = variant->path;
    checking.weights = calloc(goal->part->matrix->model_count + 1, sizeof *checking.weights);
    if (!checking.weights) return rue_fail_memory(error, "weights", sizeof *checking.weights);
    const struct rue_study_goal requested = study_goal(&checking);
    rue_status status = make_check(&checking, &requested, error);
    free(checking.weights);
    return status;
}
