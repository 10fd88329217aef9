#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "job_time.h"
#include "json_canonical.h"
#include "machine.h"
#include "prose.h"
#include "source.h"
#include "study_ledger.h"
#include "study_prior.h"
#include "study_space.h"
#include "study_trials.h"
#include "units.h"

static const double times_differ_ratio = 1.2;
static const double confidence = RUE_USUAL_CONFIDENCE;
static const double least_margin_ratio = RUE_USUAL_EPSILON; /* of mean regret: less makes no difference */
static const double widen_sd = 0.1;   /* of the loader's parameters, if nothing has changed */
static const double late_ratio = 1.2; /* first batches of one configuration differ by less */

__attribute__((format(printf, 2, 3))) static void note_difference(struct rue_check *check, const char *format,
                                                                  ...)
{
    if (check->difference_count == RUE_CHECK_DIFFERENCES_MAX) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(check->differences[check->difference_count++], sizeof *check->differences, format, arguments);
    va_end(arguments);
}

static const char *key_or_null(const char *key)
{
    return key[0] ? key : NULL;
}

enum { GPUS_BYTES = 16 };

/* What a study for this would ask for; of several loaders each has its GPU again, `gpus` tells which. */
static struct rue_study_goal study_goal(const struct rue_check_goal *goal, const char *const *data,
                                        char gpus[GPUS_BYTES])
{
    const struct rue_recommended *part = goal->part;
    const struct rue_workload workload = part->found.job.workload;
    snprintf(gpus, GPUS_BYTES, "0..%d", workload.world_size - 1);
    struct rue_study_goal out = {.data.count = *data ? 1 : 0,
                                 .data.paths = data,
                                 .data.keys = {.image_key = key_or_null(part->found.variant.image_key),
                                               .label_key = key_or_null(part->found.variant.label_key)},
                                 .loader.runner = goal->runner,
                                 .models.again = part,
                                 .loader.gpus = workload.world_size > 1 ? gpus : NULL,
                                 .job.images = part->found.job.images * (uint64_t)workload.world_size,
                                 .search.strategy = rue_strategies[0]->name,
                                 .loader.trial_timeout_ns = goal->trial_timeout_ns,
                                 .search.repeats = 1,
                                 .loader.memory_bytes = goal->memory_bytes,
                                 .loader.workload = workload,
                                 .output.keep_nothing = true,
                                 .output.command_line = goal->command_line};
    out.data.modes[part->found.variant.mode] = true;
    return out;
}

const char *rue_check_obstacle(const struct rue_recommended *part, const char *data)
{
    struct rue_variant found;
    bool detected = data && rue_source_detect(data, NULL, &found, NULL) == RUE_OK;
    if (strcmp(part->measured_with, "imported") == 0)
        return "its times are from a table: there is no runner to measure them again with";
    if (part->best == RUE_NONE) return "nothing was recommended";
    if (!rue_findings_mode_is_known(&part->found) || !part->found.job.images)
        return "it does not say which data and which job it is about";
    if (part->found.data.sample && !data)
        return "its data were a sample, which was removed: give data of that kind to check it";
    if (detected && found.mode != part->found.variant.mode) return "the data given are of the other mode";
    if (part->found.goal != RUE_GOAL_TIME)
        return "it is not about the time of the job, which is all that a check predicts";
    return "";
}

/* The variant of the study that the part is about. */
static size_t variant_of(const struct rue_study_setup *setup, const struct rue_recommended *part)
{
    size_t found = 0;
    int most = -1;
    for (size_t v = 0; v < setup->variant_count; v++) {
        int alike = rue_study_likeness(&setup->variants[v].variant, &part->found.variant);
        if (alike <= most) continue;
        most = alike;
        found = v;
    }
    return found;
}

static void compare_circumstances(const struct rue_check_goal *goal, const struct rue_study_setup *setup,
                                  size_t variant, struct rue_check *out)
{
    const struct rue_recommendation *earlier = goal->earlier;
    const struct rue_hello *hello = rue_study_hello(setup);
    struct rue_machine machine = rue_machine_read();
    char words[sizeof hello->machine_json + 64];
    rue_json_canonical(hello->machine_json, words, sizeof words);
    if (strcmp(machine.cpu, earlier->found.machine.cpu) != 0)
        note_difference(out, "the processor is %s, it was %s", machine.cpu,
                        *earlier->found.machine.cpu ? earlier->found.machine.cpu : "not told");
    if (machine.usable_cpus != earlier->found.machine.usable_cpus)
        note_difference(out, "%d CPUs can be used, they were %d", machine.usable_cpus,
                        earlier->found.machine.usable_cpus);
    if (strcmp(words, earlier->found.machine.json) != 0)
        note_difference(out, "the runner tells of another machine");
    if (strcmp(hello->runner, earlier->found.runner.name) != 0)
        note_difference(out, "the runner is %s, it was %s", hello->runner, earlier->found.runner.name);
    if (strcmp(RUE_VERSION, earlier->found.run.rue_version) != 0)
        note_difference(out, "rue is %s, it was %s", RUE_VERSION, earlier->found.run.rue_version);
    if (strcmp(setup->variants[variant].opened.digest, goal->part->found.data.digest) != 0)
        note_difference(out, "the data are others than those that were tuned for");
    if (setup->model_count < goal->part->matrix->model_count)
        note_difference(out, "%zu of the %zu models are known here", setup->model_count,
                        goal->part->matrix->model_count);
}

/* ---- trials ---- */

static void note_trial(struct rue_check *out, const struct rue_study_setup *setup, const struct rue_ask *ask,
                       const struct rue_trial_result *result, double expected_s)
{
    if (out->trial_count == RUE_CHECK_TRIALS_MAX) return;
    struct rue_check_trial *trial = &out->trials[out->trial_count++];
    bool ok = result->outcome == RUE_TRIAL_OK;
    *trial = (struct rue_check_trial){.config = setup->configs[ask->config],
                                      .images = ok ? (uint64_t)result->images : ask->images,
                                      .outcome = result->outcome,
                                      .measured_s = ok ? (double)result->end_to_end_ns / 1e9 : NAN,
                                      .expected_s = ok ? expected_s : NAN};
    snprintf(trial->model, sizeof trial->model, "%s", setup->models[ask->scenario].name);
    snprintf(trial->reason, sizeof trial->reason, "%s", result->reason);
}

/* A first batch that comes too late, and not by chance, rules a configuration out, as when it was tuned. */
static void limit_first_batch(struct rue_trial_result *result, uint64_t limit_ns)
{
    char first[RUE_UNIT_TEXT_BYTES], limit[RUE_UNIT_TEXT_BYTES];
    if (result->outcome != RUE_TRIAL_OK || !limit_ns) return;
    if ((double)result->first_batch_ns <= late_ratio * (double)limit_ns) return;
    result->outcome = RUE_TRIAL_INFEASIBLE;
    snprintf(result->reason, sizeof result->reason, "its first batch comes after %s, and the limit is %s",
             rue_format_duration((uint64_t)result->first_batch_ns, first, sizeof first),
             rue_format_duration(limit_ns, limit, sizeof limit));
}

static rue_status make_trial(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             size_t variant, struct rue_recheck *recheck, const struct rue_ask *ask,
                             struct rue_check *out, rue_error *error)
{
    uint64_t job = setup->variants[variant].job_images;
    struct rue_trial_request request = {.measure = RUE_JOINT,
                                        .config = setup->configs[ask->config],
                                        .images = ask->images,
                                        .detail = ask->images < job};
    struct rue_trial_result result;
    char label[RUE_CONFIG_TEXT_BYTES];
    rue_config_label(&request.config, label);
    rue_progress_show(setup->progress, "%zu trials: %s %s", out->trial_count,
                      setup->models[ask->scenario].name, label);
    uint64_t expected_ns = ask->expected_s > 0 ? (uint64_t)(ask->expected_s * 1e9) : 0;
    rue_status status = rue_study_measure(setup, ledger, variant, ask->scenario, &request,
                                          (size_t)ask->repeat, expected_ns, &result, error);
    if (status != RUE_OK) return status;
    if (rue_study_is_data_fault(setup, variant, result.outcome, result.reason)) {
        status = rue_study_fail_probe(setup, variant, result.outcome, result.reason, error);
    } else {
        limit_first_batch(&result, setup->goal.models.again->max_first_batch_ns);
        if (!setup->goal.models.again->predicted)
            rue_job_extend(&result, job, setup->variants[variant].workload.drop_last);
        double expected_s = rue_recheck_expected_s(recheck, ask, (uint64_t)result.images);
        note_trial(out, setup, ask, &result, expected_s);
        status = rue_recheck_tell(recheck, ask, &result, error);
    }
    rue_trial_result_close(&result);
    return status;
}

static rue_status make_trials(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                              size_t variant, uint64_t budget_ns, struct rue_recheck *recheck,
                              struct rue_check *out, rue_error *error)
{
    struct rue_ask ask;
    while (rue_recheck_ask(recheck, &ask)) {
        rue_status status = rue_interrupt_status();
        if (status != RUE_OK) return rue_fail(error, status, "interrupted");
        if (out->trial_count && budget_ns && rue_study_spent_ns(setup, ledger) >= budget_ns) break;
        status = make_trial(setup, ledger, variant, recheck, &ask, out, error);
        if (status != RUE_OK) return status;
    }
    return RUE_OK;
}

/* ---- beside the baseline ---- */

/* What whole jobs of both take on every model, as they did; infinite where that is not known. */
static double pairs_s(const struct rue_study_setup *setup, const struct rue_recommended *part,
                      double time_ratio)
{
    double sum = 0;
    for (size_t m = 0; m < setup->model_count; m++) {
        size_t own = rue_recommended_model(part, setup->models[m].name);
        if (own == RUE_NONE) return INFINITY;
        sum +=
            rue_recommended_s(part, own, part->best) + rue_recommended_s(part, own, part->baseline->config);
    }
    sum *= time_ratio;
    return isfinite(sum) ? sum : INFINITY;
}

/* A whole job of each on every model, one after the other; those that were ok become the matrix's. */
static rue_status measure_both(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               size_t variant, const char *name, struct rue_cost_matrix *matrix,
                               rue_error *error)
{
    for (size_t i = 0; i < 2 * setup->model_count; i++) {
        struct rue_trial_request request = {.measure = RUE_JOINT,
                                            .config = matrix->configs[i % 2],
                                            .images = setup->variants[variant].job_images};
        struct rue_trial_result result;
        rue_status status = rue_interrupt_status();
        if (status != RUE_OK) return rue_fail(error, status, "interrupted");
        rue_progress_show(setup->progress, "beside %s: %s", name, setup->models[i / 2].name);
        status =
            rue_study_measure(setup, ledger, variant, i / 2, &request, RUE_STUDY_ANEW, 0, &result, error);
        if (status != RUE_OK) return status;
        if (result.outcome == RUE_TRIAL_OK)
            status = rue_cost_matrix_add(matrix, i / 2, i % 2, (double)result.end_to_end_ns, false, error);
        rue_trial_result_close(&result);
        if (status != RUE_OK) return status;
    }
    return RUE_OK;
}

/* Where the budget has room for whole jobs of both. */
static rue_status check_baseline(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 size_t variant, const struct rue_check_goal *goal, const double *weights,
                                 struct rue_check *out, rue_error *error)
{
    const struct rue_recommended *part = goal->part;
    const struct rue_selection_rules rules = {1, part->objective, weights};
    const char *names[RUE_STUDY_MODELS_MAX];
    struct rue_cost_matrix *matrix;
    struct rue_selection *selection = NULL;
    double left_s = ((double)goal->budget_ns - (double)rue_study_spent_ns(setup, ledger)) / 1e9;
    if (!part->baseline || pairs_s(setup, part, out->findings.time_ratio) > left_s) return RUE_OK;
    for (size_t m = 0; m < setup->model_count; m++) names[m] = setup->models[m].name;
    out->baseline = part->matrix->configs[part->baseline->config];
    snprintf(out->baseline_name, sizeof out->baseline_name, "%s", part->baseline->name);
    const struct rue_config both[] = {out->config, out->baseline};
    rue_status status = rue_cost_matrix_open(both, 2, names, setup->model_count, &matrix, error);
    if (status != RUE_OK) return status;
    status = measure_both(setup, ledger, variant, part->baseline->name, matrix, error);
    if (status == RUE_OK) status = rue_selection_open(matrix, &rules, &selection, error);
    if (status == RUE_OK && rue_gain_find(matrix, selection, 0, 1, confidence, &out->gain) &&
        out->gain.high < 1) {
        out->findings.verdict = RUE_RECHECK_BEATEN;
        out->findings.excess_ratio = 1 / out->gain.ratio - 1;
        out->best = out->baseline;
    }
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
    return status;
}

/* What each model of the study counts. */
static void weigh(const struct rue_study_setup *setup, const struct rue_recommended *part, double *weights)
{
    for (size_t m = 0; m < setup->model_count; m++) {
        size_t own = rue_recommended_model(part, setup->models[m].name);
        weights[m] = own == RUE_NONE ? 1 : part->weights[own];
    }
}

static rue_status recheck(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                          size_t variant, const struct rue_check_goal *goal, struct rue_check *out,
                          rue_error *error)
{
    struct rue_prior prior = setup->priors[variant].prior;
    double weights[RUE_STUDY_MODELS_MAX];
    weigh(setup, goal->part, weights);
    prior.widen_sd = widen_sd;
    double margin = fmax(least_margin_ratio, goal->part->found.claim.bound_ratio);
    double spent_s = (double)rue_study_spent_ns(setup, ledger) / 1e9,
           budget_s = (double)goal->budget_ns / 1e9;
    struct rue_strategy_setup strategy_setup = rue_study_strategy_setup(setup, variant);
    strategy_setup.aim = (struct rue_setup_aim){goal->part->objective, weights, margin, confidence, 1};
    strategy_setup.budget.seconds = fmax(0, budget_s - spent_s);
    strategy_setup.known.prior = &prior;
    struct rue_recheck *handful;
    rue_status status = rue_recheck_open(&strategy_setup, !goal->part->predicted, &handful, error);
    if (status != RUE_OK) return status;
    status = make_trials(setup, ledger, variant, goal->budget_ns, handful, out, error);
    if (status == RUE_OK) status = rue_recheck_conclude(handful, margin, &out->findings, error);
    if (status == RUE_OK) out->best = setup->configs[out->findings.best];
    rue_recheck_close(handful);
    bool sure = out->findings.verdict == RUE_RECHECK_HOLDS;
    return status == RUE_OK && sure ? check_baseline(setup, ledger, variant, goal, weights, out, error)
                                    : status;
}

/* What was ruled out when it was tuned is no rival: its times may look better. */
static rue_status list_configs(struct rue_study_setup *setup, const struct rue_recommended *part,
                               rue_error *error)
{
    const struct rue_cost_matrix *matrix = part->matrix;
    struct rue_config *configs = reallocarray(setup->configs, matrix->config_count, sizeof *configs);
    if (!configs) return rue_fail_memory(error, "configurations", matrix->config_count);
    setup->configs = configs;
    setup->config_count = 0;
    for (size_t c = 0; c < matrix->config_count; c++)
        if (!rue_recommended_is_unfit(part, c) || c == part->best)
            setup->configs[setup->config_count++] = matrix->configs[c];
    return RUE_OK;
}

static rue_status check(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                        const struct rue_check_goal *goal, struct rue_check *out, rue_error *error)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    struct rue_recommended *part = goal->part;
    size_t variant = variant_of(setup, part);
    if (strcmp(hello->loader, part->measured_with) != 0)
        return rue_fail(error, RUE_USAGE,
                        "%s was measured with %s and not with %s: give the runner that made it with --runner",
                        goal->earlier->path, part->measured_with, hello->loader);
    compare_circumstances(goal, setup, variant, out);
    int cpus = rue_recommendation_cpus(goal->earlier);
    rue_status status = rue_recommended_know(part, cpus, strcmp(hello->loader, "rue") != 0, error);
    if (status != RUE_OK) return status;
    status = list_configs(setup, part, error);
    if (status != RUE_OK) return status;
    out->config = part->matrix->configs[part->best];
    out->worst = part->objective == RUE_OBJECTIVE_WORST;
    /* What is to be refuted: that nothing has changed. */
    status = rue_study_make_prior(setup, part, true, true, &setup->priors[variant], error);
    return status == RUE_OK ? recheck(setup, ledger, variant, goal, out, error) : status;
}

/* A check under way. */
struct checking {
    const struct rue_check_goal *goal;
    struct rue_check *out;
};

static rue_status check_study(struct rue_study *study, void *context, rue_error *error)
{
    const struct checking *checking = context;
    return check(&study->setup, &study->ledger, checking->goal, checking->out, error);
}

rue_status rue_check_run(const struct rue_check_goal *goal, struct rue_check *out, rue_error *error)
{
    static const struct rue_study_steps steps = {.run = check_study};
    struct checking checking = {goal, out};
    const char *data = goal->data;
    char gpus[GPUS_BYTES];
    *out = (struct rue_check){.findings = {.verdict = RUE_RECHECK_UNTRIED}};
    snprintf(out->skipped, sizeof out->skipped, "%s", rue_check_obstacle(goal->part, goal->data));
    if (out->skipped[0]) return RUE_OK;
    if (!data && goal->part->found.variant.path[0]) data = goal->part->found.variant.path;
    struct rue_study_goal wanted = study_goal(goal, &data, gpus);
    return rue_study_perform(&wanted, goal->progress, &steps, &checking, error);
}

/* ---- words ---- */

bool rue_check_holds(const struct rue_check *check)
{
    return !check->skipped[0] && check->findings.verdict == RUE_RECHECK_HOLDS;
}

/* Which trials there were, and whether they took as long as they did. */
static void say_trials(struct rue_page *page, const struct rue_check *check)
{
    double ratio = check->findings.time_ratio;
    rue_say(page, ", with %s",
            check->findings.whole_jobs ? "whole jobs on every model"
                                       : "a few trials, not with whole jobs on every model");
    if (ratio >= times_differ_ratio)
        rue_say(page, "; trials take %.0f %% longer here than they did", 100 * (ratio - 1));
    else if (ratio <= 1 / times_differ_ratio)
        rue_say(page, "; trials take %.0f %% less time here than they did", 100 * (1 - ratio));
}

/* "; it is 1.31 times as fast as workers = CPUs, 32/4 (95 % CI 1.2 to 1.4)", "" where that was not tried. */
static void say_gain(struct rue_page *page, const struct rue_check *check)
{
    char label[RUE_CONFIG_TEXT_BYTES];
    const struct rue_gain *gain = &check->gain;
    if (gain->confidence == 0) return;
    rue_config_label(&check->baseline, label);
    rue_say(page, "; it is %.2f times as fast as %s, %s (%.3g %% CI %.2f to %.2f)", gain->ratio,
            check->baseline_name, label, 100 * gain->confidence, gain->low, gain->high);
}

/* Others may have failed before it. */
static void say_failed(struct rue_page *page, const struct rue_check *check, const char *config)
{
    for (size_t i = 0; i < check->trial_count; i++) {
        const struct rue_check_trial *trial = &check->trials[i];
        if (trial->outcome == RUE_TRIAL_OK || !rue_config_equal(&trial->config, &check->config)) continue;
        rue_say(page, "does not hold here: %s %s: %s", config,
                trial->outcome == RUE_TRIAL_INFEASIBLE ? "is infeasible" : "does not run", trial->reason);
        return;
    }
    rue_say(page, "does not hold here: %s does not run", config);
}

void rue_check_say(struct rue_page *page, const struct rue_check *check)
{
    char config[RUE_CONFIG_TEXT_BYTES], best[RUE_CONFIG_TEXT_BYTES];
    const struct rue_recheck_findings *found = &check->findings;
    rue_config_label(&check->config, config);
    rue_config_label(&check->best, best);
    switch (found->verdict) {
    case RUE_RECHECK_HOLDS:
        if (found->tried == 1)
            rue_say(page, "still holds here: of the configurations %s alone was tried again", config);
        else
            rue_say(
                page,
                "still holds here: %s is within %.1f %% of the best of the %zu configurations tried again",
                config, rue_prose_bound_percent(found->tried_ratio), found->tried);
        say_gain(page, check);
        say_trials(page, check);
        break;
    case RUE_RECHECK_BEATEN:
        rue_say(page, "does not hold here: %s is expected to be better than %s by ", best, config);
        if (isnan(found->excess_ratio))
            rue_say(page, "far");
        else
            rue_say(page, "%.1f %% of %s regret", 100 * found->excess_ratio, check->worst ? "worst" : "mean");
        say_trials(page, check);
        break;
    case RUE_RECHECK_UNSURE:
        if (isnan(found->time_ratio)) {
            rue_say(page, "cannot be relied on here: it does not tell how long these trials should take");
            break;
        }
        rue_say(page, "cannot be relied on here: times are not what they were, and %s may be better than %s",
                rue_config_equal(&check->best, &check->config) ? "another" : best, config);
        say_trials(page, check);
        break;
    case RUE_RECHECK_FAILED:
        say_failed(page, check, config);
        break;
    case RUE_RECHECK_UNTRIED:
        rue_say(page, "was not checked: %s", check->skipped[0] ? check->skipped : "no trial was made");
        break;
    }
}
