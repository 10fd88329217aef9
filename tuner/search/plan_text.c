#include "plan_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "json_document.h"
#include "prose.h"
#include "study_costs.h"
#include "study_recording.h"
#include "study_views.h"
#include "units.h"
#include "utf8.h"
#include "watch.h"
#include "wrap.h"

enum {
    VALUES_AT = 20,
    LINE_BYTES = RUE_STUDY_MODELS_MAX * (RUE_MODEL_NAME_BYTES + 2),
    NAME_BYTES = 256,
    BEST_BYTES = RUE_CONFIG_TEXT_BYTES + 64,
    PROGRESS_BYTES = 2 * (NAME_BYTES + BEST_BYTES) + RUE_MODEL_NAME_BYTES
};

/* A line of the plan, collected and then written wrapped. */
struct line {
    char text[LINE_BYTES];
    size_t used;
};

static void add_part(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_part(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->used, sizeof line->text - line->used, format, arguments);
    va_end(arguments);
    line->used += (size_t)length;
    if (line->used >= sizeof line->text) line->used = sizeof line->text - 1;
}

static void write_line(struct line *line, const char *name, const struct rue_report_style *style, FILE *out)
{
    char label[64], clean[LINE_BYTES];
    snprintf(label, sizeof label, "  %s", name);
    rue_utf8_clean(line->text, style->unicode, clean, sizeof clean);
    rue_wrap_item(out, label, clean, style->columns, VALUES_AT);
    fputc('\n', out);
    *line = (struct line){0};
}

static void add_count(struct line *line, size_t count, const char *noun, const char *suffix)
{
    add_part(line, "%zu %s%s%s", count, noun, count == 1 ? "" : "s", suffix);
}

static double remaining_s(const struct rue_study_setup *setup)
{
    return fmax(0, setup->plan.expected_s - setup->plan.stored_s);
}

static void list_values(struct line *line, const struct rue_study_setup *setup, size_t knob)
{
    const struct rue_space *space = &setup->space;
    char value[RUE_KNOB_TEXT_BYTES];
    for (int i = 0; i < space->count[knob]; i++) {
        rue_knob_format(space->knobs->at[knob], space->values[knob][i], value);
        add_part(line, "%s%s", i ? ", " : "", value);
    }
}

bool rue_study_shows_knob(const struct rue_study_setup *setup, size_t knob)
{
    return setup->space.knobs->at[knob]->always_shown || rue_study_hello(setup)->varies[knob];
}

const char *rue_study_option_name(const struct rue_knob_info *knob, char out[RUE_KNOB_TEXT_BYTES])
{
    snprintf(out, RUE_KNOB_TEXT_BYTES, "%s", knob->name);
    for (char *at = out; *at; at++)
        if (*at == '_') *at = '-';
    return out;
}

static void add_plan_cost(struct line *line, const struct rue_study_setup *setup)
{
    char text[RUE_UNIT_TEXT_BYTES];
    if (setup->goal.search.budget.trials && rue_study_predicts(setup))
        add_part(line, "no time limit");
    else if (remaining_s(setup) == 0)
        add_part(line, rue_study_predicts(setup)
                           ? "no time left after opening the data, so only stored trials are used"
                           : "nothing, as the store holds all trials");
    else
        add_part(line, rue_study_predicts(setup) ? "up to %s" : "%s expected",
                 rue_format_duration((uint64_t)(remaining_s(setup) * 1e9), text, sizeof text));
    if (setup->plan.stored_s > 0)
        add_part(line, " (the store saves %s)",
                 rue_format_duration((uint64_t)(setup->plan.stored_s * 1e9), text, sizeof text));
    add_part(line, ", budget %s", rue_budget_format(&setup->goal.search.budget, text, sizeof text));
}

static void add_trials(struct line *line, const struct rue_study_setup *setup,
                       const struct rue_study_ledger *ledger)
{
    bool predicts = rue_study_predicts(setup);
    if (!predicts) add_part(line, "%zu: ", setup->plan.trials);
    add_count(line, setup->config_count, "configuration", " x ");
    add_count(line, setup->model_count, "model", " x ");
    add_count(line, setup->variant_count, "variant", predicts ? "; " : " x ");
    if (predicts) {
        add_part(line, "as many trials as the decision needs");
        return;
    }
    const struct rue_budget *budget = &setup->goal.search.budget;
    bool is_short = budget->trials
                        ? setup->plan.trials > rue_watch_strategy_trials(setup, budget->trials)
                        : budget->time_ns && remaining_s(setup) > rue_study_budget_left_s(setup, ledger);
    add_count(line, (size_t)setup->plan.repeats, "repeat",
              is_short ? "; as many configurations as the budget allows" : "");
}

static void add_data(struct line *line, const struct rue_study_variant *variant)
{
    char count[RUE_UNIT_TEXT_BYTES], description[64];
    rue_variant_describe(&variant->variant, description, sizeof description);
    add_part(line, "%s: %s images%s, read %s", description,
             rue_format_count(variant->opened.images, count, sizeof count),
             variant->sample ? " (a converted sample)" : "", variant->workload.cache);
}

static void add_replayed(struct line *line, const struct rue_study_setup *setup, size_t variant)
{
    char time[RUE_UNIT_TEXT_BYTES];
    double table_s = rue_study_recording_s(setup, variant);
    add_part(line, "%.200s: times from a table, %s in total", setup->variants[variant].variant.path,
             rue_format_duration((uint64_t)(table_s * 1e9), time, sizeof time));
}

/* "every 5 trials one load-only trial of 384 images (16/4), ..." */
static bool add_references(struct line *line, const struct rue_study_setup *setup)
{
    struct rue_watch_plan plan;
    char label[RUE_CONFIG_TEXT_BYTES], count[RUE_UNIT_TEXT_BYTES];
    if (!rue_watch_plan(setup, &plan)) return false;
    rue_config_label(&plan.request.config, label);
    add_part(line, "every %d trials one %s trial of %s images (%s), to detect changes of the machine's speed",
             RUE_WATCH_PERIOD, plan.request.measure == RUE_LOAD ? "load-only" : "joint",
             rue_format_count(plan.request.images, count, sizeof count), label);
    return true;
}

/* "batch size/workers 32/0 (no workers), 32/4 (workers = CPUs)" */
static void add_baselines(struct line *line, const struct rue_study_setup *setup)
{
    char label[RUE_CONFIG_TEXT_BYTES];
    for (size_t b = 0; b < setup->baselines.count; b++) {
        rue_config_label(&setup->baselines.at[b].config, label);
        add_part(line, "%s%s (%s)", line->used ? ", " : "batch size/workers ", label,
                 setup->baselines.at[b].name);
    }
}

void rue_study_show_plan(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                         const struct rue_report_style *style, FILE *out)
{
    char count[RUE_UNIT_TEXT_BYTES], name[RUE_KNOB_TEXT_BYTES];
    struct line line = {0};
    const struct rue_rank_numbers *numbers = &setup->goal.loader.deployment.numbers;
    for (size_t v = 0; v < (numbers->count ? setup->chosen_count : setup->variant_count); v++) {
        if (setup->host.recording)
            add_replayed(&line, setup, v);
        else
            add_data(&line, &setup->variants[v]);
        write_line(&line, "data", style, out);
    }
    char loaders[RUE_DEPLOYMENT_TEXT_BYTES];
    add_part(&line, "%s images", rue_format_count(setup->variants[0].job_images, count, sizeof count));
    if (setup->goal.job.epochs > 1) add_part(&line, " (%" PRIu64 " epochs)", setup->goal.job.epochs);
    add_part(&line, "%s%s",
             rue_deployment_say(&setup->goal.loader.deployment, &setup->goal.loader.workload, " ", loaders),
             rue_study_assumes_job(setup) ? " (assumed: the table does not say; set --images)" : "");
    for (size_t i = 0; i < numbers->count; i++)
        add_part(&line, "%s%d", i ? ", " : ", on each rank and shared by all: ranks ", numbers->at[i]);
    write_line(&line, "job", style, out);
    for (size_t m = 0; m < setup->model_count; m++)
        add_part(&line, "%s%s", m ? ", " : "", setup->models[m].name);
    write_line(&line, "models", style, out);
    for (size_t k = 0; k < setup->space.knobs->count; k++) {
        if (!rue_study_shows_knob(setup, k)) continue;
        list_values(&line, setup, k);
        write_line(&line, rue_study_option_name(setup->space.knobs->at[k], name), style, out);
    }
    add_part(&line, "%s, which %s%s%s", setup->plan.strategy->name,
             rue_study_predicts(setup) ? "measures some configurations and predicts the rest"
                                       : "measures all",
             setup->plan.why[0] ? ": " : "", setup->plan.why);
    write_line(&line, "strategy", style, out);
    add_trials(&line, setup, ledger);
    write_line(&line, "trials", style, out);
    if (rue_study_predicts(setup)) {
        double points = 100 * setup->goal.search.epsilon_ratio;
        add_part(&line,
                 "when no configuration can be more than %g point%s better (%g %% confidence), or when the "
                 "budget is spent",
                 points, points == 1 ? "" : "s", 100 * setup->goal.search.confidence);
        write_line(&line, "ends", style, out);
    }
    add_baselines(&line, setup);
    if (line.used) write_line(&line, "baselines", style, out);
    if (add_references(&line, setup)) write_line(&line, "references", style, out);
    add_plan_cost(&line, setup);
    write_line(&line, "cost", style, out);
}

/* The best configuration so far, in three lengths; "" before anything is ranked or predicted. */
struct best_text {
    char full[BEST_BYTES], middle[BEST_BYTES], brief[BEST_BYTES];
};

/* "best so far 128/2 (regret 1.8 %)", the mean regret. */
static void describe_best(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                          size_t variant, struct best_text *out)
{
    struct rue_cost_matrix *matrix;
    struct rue_selection *selection = NULL;
    char label[RUE_CONFIG_TEXT_BYTES];
    if (rue_study_matrix(setup, ledger, variant, &matrix, NULL) != RUE_OK) return;
    rue_status status = rue_ranking_rules_select(&setup->goal.search.rules, matrix, &selection, NULL);
    rue_cost_matrix_close(matrix);
    if (status == RUE_OK && selection->recommended != RUE_NONE) {
        double regret = 100 * selection->rows[selection->recommended].mean_regret_ratio;
        rue_config_label(&setup->configs[selection->recommended], label);
        snprintf(out->full, BEST_BYTES, "best so far %s (regret %.1f %%)", label, regret);
        snprintf(out->middle, BEST_BYTES, "%s best, regret %.1f %%", label, regret);
        snprintf(out->brief, BEST_BYTES, "%s, regret %.1f %%", label, regret);
    }
    rue_selection_close(selection);
}

/* "best so far 128/2, no other more than 1.8 points better" */
static void describe_claim(const struct rue_study_setup *setup, void *state, struct best_text *out)
{
    struct rue_claim claim;
    char label[RUE_CONFIG_TEXT_BYTES];
    const char *at_most = setup->progress->unicode ? "≤" : "<=";
    if (!setup->plan.strategy->interim || !setup->plan.strategy->interim(state, &claim)) return;
    double bound = rue_findings_bound_percent(claim.bound_ratio);
    rue_config_label(&setup->configs[claim.config], label);
    snprintf(out->full, BEST_BYTES, "best so far %s, no other more than %.1f points better", label, bound);
    snprintf(out->middle, BEST_BYTES, "%s best, others %s %.1f points better", label, at_most, bound);
    snprintf(out->brief, BEST_BYTES, "%s, %s %.1f pt", label, at_most, bound);
}

/* Expected seconds of the remaining trials. */
static double rest_s(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                     double spent_s)
{
    const struct rue_budget *budget = &setup->goal.search.budget;
    double made = (double)ledger->run_trials, done = (double)ledger->answered;
    double left_s = budget->time_ns ? rue_study_budget_left_s(setup, ledger) : INFINITY;
    if (budget->trials) left_s = spent_s / fmax(1, made) * fmax(0, (double)budget->trials - made);
    if (rue_study_predicts(setup)) return left_s;
    double all = (double)setup->plan.trials, rest = all - done;
    return fmin(left_s, done > all / 10 ? spent_s / done * rest : setup->plan.expected_s * rest / all);
}

/* Whole sentences for terminals of any width, the longest first. */
static void show_texts(struct rue_progress *progress, const struct best_text *best, const char *name,
                       const char *trials, const char *last, const char *left)
{
    char texts[6][PROGRESS_BYTES];
    const char *all[6], *colon = name[0] ? ": " : "", *space = name[0] ? " " : "";
    size_t count = 0;
    for (size_t i = 0; i < 6; i++) all[i] = texts[i];
    if (!best->full[0]) {
        snprintf(texts[count++], PROGRESS_BYTES, "%s: %s, %s left", trials, last, left);
        snprintf(texts[count++], PROGRESS_BYTES, "%s, %s left", trials, left);
    } else {
        snprintf(texts[count++], PROGRESS_BYTES, "%s: %s, %s left%s %s%s%s", trials, last, left,
                 name[0] ? ";" : ",", name, colon, best->full);
        snprintf(texts[count++], PROGRESS_BYTES, "%s%s%s, %s, %s left", name, space, best->middle, trials,
                 left);
        snprintf(texts[count++], PROGRESS_BYTES, "%s%s%s, %s left", name, space, best->middle, left);
        snprintf(texts[count++], PROGRESS_BYTES, "%s%s%s, %s", name, space, best->brief, left);
        snprintf(texts[count++], PROGRESS_BYTES, "%s, %s", best->brief, left);
    }
    snprintf(texts[count++], PROGRESS_BYTES, "%s left", left);
    rue_progress_show_whole(progress, all, count);
}

/* Trials are counted, because trial numbers mean rows of trials.csv. */
void rue_study_show_progress(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                             void *state, struct rue_study_cell cell, uint64_t run_start_ns)
{
    size_t most = setup->goal.search.budget.trials, done = ledger->answered;
    if (done > 1 && !rue_progress_due(setup->progress)) return;
    struct best_text best = {0};
    char total[64] = "", label[RUE_CONFIG_TEXT_BYTES], left[RUE_UNIT_TEXT_BYTES], trials[128],
         last[PROGRESS_BYTES], name[NAME_BYTES];
    const struct rue_variant *data = &setup->variants[cell.variant].variant;
    describe_claim(setup, state, &best);
    if (!rue_study_predicts(setup)) {
        describe_best(setup, ledger, cell.variant, &best);
        snprintf(total, sizeof total, " of %zu", setup->plan.trials);
    } else if (most)
        snprintf(total, sizeof total, " of at most %zu", most + done - ledger->run_trials);
    rue_config_label(&setup->configs[cell.config], label);
    double left_s = rest_s(setup, ledger, (double)(rue_study_spent_ns(setup, ledger) - run_start_ns) / 1e9);
    rue_format_duration((uint64_t)(left_s * 1e9), left, sizeof left);
    snprintf(name, sizeof name, "%s", setup->host.recording ? data->path : rue_mode_names[data->mode]);
    snprintf(trials, sizeof trials, "%zu%s trial%s", done, total, done == 1 && !total[0] ? "" : "s");
    snprintf(last, sizeof last, "%s %s %s", name, setup->models[cell.model].name, label);
    show_texts(setup->progress, &best, setup->variant_count > 1 ? name : "", trials, last, left);
}
