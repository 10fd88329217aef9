#include "poster.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "charts.h"
#include "loading_code.h"
#include "program_name.h"
#include "prose.h"
#include "report_parts.h"
#include "units.h"
#include "verdict.h"

#define NB RUE_NO_BREAK

enum { CAVEATS = 4, BARS = 12 }; /* caveats that are named, models that have bars */

/* What is drawn and said: the variant, and the configuration that people use by default; RUE_NONE: none. */
struct subject {
    const struct rue_findings *findings;
    const struct rue_breakdown *breakdown;
    const struct rue_variant_findings *variant;
    size_t best, usual;
};

/* ---- figures ---- */

static void put_figure(struct rue_page *page, const char *what, const char *remark, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void put_figure(struct rue_page *page, const char *what, const char *remark, const char *format, ...)
{
    char text[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const struct rue_table_column row[] = {
        {NULL, "figure", .text = text}, {NULL, "what", .text = what}, {NULL, "remark", .text = remark}};
    rue_page_row(page, false, row, sizeof row / sizeof *row);
}

static void put_share(struct rue_page *page, const struct subject *subject)
{
    static const char what[] = "of the speed with a perfect loader";
    const struct rue_waiting waiting =
        rue_waiting_find(subject->findings, subject->breakdown, subject->variant, subject->best);
    const char *predicted = waiting.predicted ? ", as predicted" : "";
    char remark[RUE_MODEL_NAME_BYTES + 96];
    if (!waiting.models) return; /* no trial reports it */
    if (waiting.models == 1)
        snprintf(remark, sizeof remark, "the model waits %.0f" NB "%% of the time%s",
                 100 * waiting.most_ratio, predicted);
    else
        snprintf(remark, sizeof remark, "mean over %zu models; %s waits %.0f" NB "%% of the time%s",
                 waiting.models, subject->variant->matrix->models[waiting.slowest], 100 * waiting.most_ratio,
                 predicted);
    put_figure(page, what, remark, "%.0f" NB "%%", 100 * (1 - waiting.mean_ratio));
}

static void put_speedup(struct rue_page *page, const struct subject *subject)
{
    const struct rue_baseline_findings *baselines = &subject->variant->baselines;
    const struct rue_baseline_row *usual = baselines->count ? &baselines->rows[0] : NULL;
    char what[RUE_CONFIG_TEXT_BYTES + 96], label[RUE_CONFIG_TEXT_BYTES], remark[RUE_GAIN_BYTES + 48],
        interval[RUE_GAIN_BYTES], times[RUE_UNIT_TEXT_BYTES];
    if (!usual) return; /* none was compared */
    const struct rue_speedup *gain = &usual->gain;
    const struct rue_ranking_row *rows = subject->variant->selection->rows;
    bool predicted = !rows[usual->config].repeats || !rows[subject->best].repeats;
    rue_config_label(&subject->variant->matrix->configs[usual->config], label);
    bool unsteady = rue_findings_is_unsteady(subject->findings), same = usual->config == subject->best,
         known = same || (!unsteady && gain->ratio > 0);
    snprintf(what, sizeof what, "%sas fast as %s, %s", known ? "" : "how many times ", usual->name, label);
    if (same) return put_figure(page, what, "it is the same", "1" NB "time");
    if (!known)
        return put_figure(page, what, unsteady ? "the times are not reliable" : "not measured on every model",
                          "unknown");
    const char *judged = rue_prose_judge_gain(gain);
    snprintf(remark, sizeof remark, "%s%s%s%s", judged, judged[0] ? ": " : "",
             rue_prose_gain_interval(gain, interval), predicted ? ", predicted" : "");
    put_figure(page, what, remark, "%s" NB "times", rue_format_times(gain->ratio, times, sizeof times));
}

/* Without a bound on other configurations, the regret of this one. */
static void put_bound(struct rue_page *page, const struct subject *subject)
{
    const struct rue_claim_findings *claim = &subject->variant->claim;
    const struct rue_regret_interval *interval = &subject->variant->interval;
    const struct rue_ranking_row *row = &subject->variant->selection->rows[subject->best];
    char remark[96];
    if (claim->confidence > 0) {
        snprintf(remark, sizeof remark, "%.3g" NB "%% confidence%s", 100 * claim->confidence,
                 claim->measured_only ? "; only measured configurations" : "");
        return put_figure(page, "of regret: the most that another configuration can save", remark,
                          "%.1f" NB "points", rue_findings_bound_percent(claim->bound_ratio));
    }
    snprintf(remark, sizeof remark, "%.3g" NB "%% CI %.1f" NB "to" NB "%.1f" NB "%%",
             100 * interval->confidence, 100 * interval->mean_low, 100 * interval->mean_high);
    put_figure(page, subject->variant->selection->model_count > 1 ? "mean regret over all models" : "regret",
               interval->confidence > 0 ? remark : "the uncertainty is unknown", "%.1f" NB "%%",
               100 * row->mean_regret_ratio);
}

static void put_spent(struct rue_page *page, const struct subject *subject)
{
    const struct rue_run_findings *run = &subject->findings->run;
    size_t trials = subject->breakdown->trial_count;
    int cpus = subject->findings->machine.usable_cpus;
    char what[96], remark[96] = "", text[RUE_UNIT_TEXT_BYTES];
    size_t used = (size_t)snprintf(what, sizeof what, "spent on %zu trial%s", trials - run->reused_trials,
                                   rue_prose_plural(trials - run->reused_trials));
    if (run->reused_trials)
        snprintf(what + used, sizeof what - used, ", with %zu of earlier runs", run->reused_trials);
    used = cpus ? (size_t)snprintf(remark, sizeof remark, "on %d" NB "CPU%s", cpus,
                                   rue_prose_plural((uint64_t)cpus))
                : 0;
    if (subject->variant->job.images)
        snprintf(remark + used, sizeof remark - used, "%sjob of %s images", used ? "; " : "",
                 rue_format_count(subject->variant->job.images, text, sizeof text));
    if (run->duration_s > 0)
        put_figure(page, what, remark, "%s",
                   rue_format_duration((uint64_t)(run->duration_s * 1e9), text, sizeof text));
}

static void put_figures(struct rue_page *page, const struct subject *subject)
{
    rue_page_figures(page);
    put_share(page, subject);
    put_speedup(page, subject);
    put_bound(page, subject);
    put_spent(page, subject);
}

/* ---- what it saves ---- */

/* The mean over the models of the time of the job, in ns; NaN: unknown. */
static double mean_time(const struct subject *subject, size_t config, bool *predicted)
{
    const struct rue_variant_findings *variant = subject->variant;
    double sum = 0;
    for (size_t m = 0; m < variant->selection->model_count; m++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, m, config);
        sum += cell->state == RUE_CELL_OK ? cell->median_ns : NAN;
        *predicted |= cell->repeats == 0;
    }
    return sum / (double)variant->selection->model_count;
}

/* Epochs of the job; 0: it is not a number of whole epochs, or that is unknown. */
static double count_epochs(const struct rue_variant_findings *variant)
{
    uint64_t ranks = (uint64_t)rue_findings_ranks(variant),
             epoch = (variant->data.images + ranks - 1) / ranks;
    return epoch && variant->job.images % epoch == 0 ? (double)(variant->job.images / epoch) : 0;
}

/* "31 s becomes 12 s" */
static void say_saving(struct rue_page *page, double before_ns, double after_ns, const char *verb)
{
    char before[RUE_UNIT_TEXT_BYTES], after[RUE_UNIT_TEXT_BYTES];
    rue_say_unbroken(page, rue_format_duration((uint64_t)before_ns, before, sizeof before));
    rue_say(page, "%s", verb);
    rue_say_unbroken(page, rue_format_duration((uint64_t)after_ns, after, sizeof after));
}

/* "31 s an epoch becomes 12 s; 90 epochs: 46 m becomes 18 m." */
static void put_saving(struct rue_page *page, const struct subject *subject)
{
    const double example = 100;
    const struct rue_variant_findings *variant = subject->variant;
    bool predicted = false;
    char count[RUE_UNIT_TEXT_BYTES];
    if (subject->usual == RUE_NONE || subject->usual == subject->best || !variant->job.images ||
        variant->goal != RUE_GOAL_TIME || rue_findings_is_unsteady(subject->findings))
        return;
    double before_ns = mean_time(subject, subject->usual, &predicted),
           after_ns = mean_time(subject, subject->best, &predicted), epochs = count_epochs(variant),
           shown = epochs > 1 ? epochs : example;
    if (isnan(before_ns) || isnan(after_ns)) return;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    if (epochs > 0) {
        say_saving(page, before_ns / epochs, after_ns / epochs, " an epoch becomes ");
        rue_say(page, "; %.0f" NB "epochs%s: ", shown, epochs > 1 ? "" : ", for example");
        say_saving(page, before_ns / epochs * shown, after_ns / epochs * shown, " becomes ");
    } else {
        rue_say(page, "Job of %s images: ", rue_format_count(variant->job.images, count, sizeof count));
        say_saving(page, before_ns, after_ns, " becomes ");
    }
    if (variant->selection->model_count > 1)
        rue_say(page, " (mean over %zu" NB "models%s)", variant->selection->model_count,
                predicted ? ", predicted" : "");
    else if (predicted)
        rue_say(page, " (predicted)");
    rue_say(page, ".");
}

/* ---- caveats ---- */

static void say_caveat(struct rue_page *page, size_t *count, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say_caveat(struct rue_page *page, size_t *count, const char *format, ...)
{
    char text[192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (++*count > CAVEATS) return;
    rue_say(page, "%s%s", *count > 1 ? "; " : "Caveats: ", text);
}

static void say_run_caveats(struct rue_page *page, const struct rue_findings *findings, size_t *count)
{
    const struct rue_change_findings *changes = &findings->changes;
    if (rue_findings_is_doubtful(findings)) say_caveat(page, count, "the machine was busy");
    if (findings->run.partial) say_caveat(page, count, "partial results");
    if (changes->contention.contended_ratio > 0 && !rue_findings_is_unsteady(findings))
        say_caveat(page, count, "%s",
                   rue_findings_corrects_contention(findings) ? "times are corrected for other programs"
                                                              : "other programs used CPUs");
    if (changes->notice_count && !rue_findings_is_unsteady(findings))
        say_caveat(page, count, "times are corrected for changes of the machine's speed");
    if (changes->dropped_count) say_caveat(page, count, "%zu nodes were dropped", changes->dropped_count);
}

/* The best configuration of longer jobs, if it is another one. */
static void say_longer_jobs(struct rue_page *page, const struct rue_variant_findings *variant, size_t *count)
{
    const struct rue_job_lengths *lengths = &variant->lengths;
    char label[RUE_CONFIG_TEXT_BYTES], text[RUE_UNIT_TEXT_BYTES];
    size_t next = 0;
    while (next < lengths->count && lengths->at[next].from_images <= variant->job.images) next++;
    if (next == lengths->count) return;
    rue_config_label(&variant->matrix->configs[lengths->at[next].config], label);
    say_caveat(page, count, "%s is better for jobs above %s images, as predicted", label,
               rue_format_count(rue_verdict_round_images(lengths->at[next].from_images), text, sizeof text));
}

static void say_variant_caveats(struct rue_page *page, const struct subject *subject, size_t *count)
{
    const struct rue_variant_findings *variant = subject->variant;
    const struct rue_trial_findings *trials = &variant->trials;
    size_t unranked = variant->selection->config_count - variant->selection->ranked_count,
           missed = trials->failed + trials->infeasible + trials->timeout;
    enum rue_basis basis = rue_findings_basis(&variant->selection->rows[subject->best]);
    if (basis == RUE_BASIS_PREDICTED) say_caveat(page, count, "predicted, not measured on every model");
    if (basis == RUE_BASIS_TRUNCATED) say_caveat(page, count, "estimated from runs shorter than the job");
    if (trials->disturbed)
        say_caveat(page, count, "%zu of %zu trials far from the expected time", trials->disturbed,
                   trials->ok);
    if (trials->cache_missed)
        say_caveat(page, count, "%zu of %zu trials did not read %s data", trials->cache_missed, trials->ok,
                   variant->job.workload.cache);
    if (missed) say_caveat(page, count, "%zu trial%s without a time", missed, rue_prose_plural(missed));
    if (trials->bad_images) say_caveat(page, count, "images that cannot be decoded were replaced");
    if (unranked)
        say_caveat(page, count, "%zu of %zu configurations not ranked", unranked,
                   variant->selection->config_count);
    if (variant->data.note[0]) say_caveat(page, count, "a note on the data");
    if (trials->meant_ns > 0) say_caveat(page, count, "models are simulated");
}

static void put_caveats(struct rue_page *page, const struct subject *subject, const char *notes)
{
    size_t count = 0;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_page_link(page, notes);
    say_longer_jobs(page, subject->variant, &count);
    say_run_caveats(page, subject->findings, &count);
    if (subject->best != RUE_NONE) say_variant_caveats(page, subject, &count);
    if (count > CAVEATS) rue_say(page, "; and %zu more", count - CAVEATS);
    if (count) rue_say(page, ".");
}

/* ---- bars ---- */

/* Returns whether its parts are predicted. */
static bool put_bar(struct rue_page *page, const struct subject *subject, size_t model, size_t config,
                    double unit_ns)
{
    const struct rue_variant_findings *variant = subject->variant;
    const struct rue_job_parts parts =
        rue_job_parts_find(subject->findings, subject->breakdown, variant, model, config);
    char caption[RUE_UNIT_TEXT_BYTES + 64], text[RUE_UNIT_TEXT_BYTES];
    bool predicted = parts.basis == RUE_PARTS_PREDICTED;
    if (parts.basis == RUE_PARTS_UNKNOWN) return false;
    double waiting = rue_job_parts_waiting(&parts);
    rue_format_duration((uint64_t)parts.total_ns, text, sizeof text);
    size_t used = (size_t)snprintf(caption, sizeof caption, "%s%s", text, predicted ? " ~" : "");
    if (!isnan(waiting))
        snprintf(caption + used, sizeof caption - used, ", waits %.0f" NB "%%", 100 * waiting);
    const double copy_ns = parts.ns[RUE_PART_COPY],
                 waits_ns = parts.ns[RUE_PART_WAIT] + parts.ns[RUE_PART_SHUTDOWN];
    const struct rue_table_column row[] = {
        {"model", "model", .text = variant->matrix->models[model]},
        {"config", "batch size/workers", .config = &variant->matrix->configs[config]},
        {"time_ns", "time", RUE_UNIT_DURATION, .number = parts.total_ns},
        {"first", "first batch", RUE_UNIT_PERCENT, .number = parts.ns[RUE_PART_FIRST] / unit_ns},
        {"waiting", "waiting", RUE_UNIT_PERCENT, .number = waits_ns / unit_ns},
        {"copying", "copying", RUE_UNIT_PERCENT, .number = copy_ns > 0 ? copy_ns / unit_ns : NAN},
        {"computing", "computing", RUE_UNIT_PERCENT, .number = parts.ns[RUE_PART_COMPUTE] / unit_ns},
        {"caption", NULL, .text = caption},
    };
    rue_page_row(page, config == subject->best, row, sizeof row / sizeof *row);
    return predicted;
}

/* For each model, the recommended configuration and the usual one; lengths are shares of the usual one's
 * time, so that models of all speeds can be read. */
static void put_bars(struct rue_page *page, const struct rue_chart_subject *charts,
                     const struct subject *subject)
{
    const struct rue_variant_findings *variant = subject->variant;
    bool compares = subject->usual != RUE_NONE && subject->usual != subject->best, predicted = false;
    size_t models = variant->selection->model_count, last = models > BARS ? BARS - 1 : models - 1, i = 0,
           bar = 0;
    char note[128], some[48] = "";
    rue_page_table(page);
    for (size_t m = RUE_NONE; (m = rue_chart_next_model(variant, m)) != RUE_NONE; i++) {
        if (last && i != bar * (models - 1) / last) continue;
        bar++;
        const struct rue_cell *unit =
            rue_cost_matrix_cell(variant->matrix, m, compares ? subject->usual : subject->best);
        if (unit->state != RUE_CELL_OK) unit = rue_cost_matrix_cell(variant->matrix, m, subject->best);
        predicted |= put_bar(page, subject, m, subject->best, unit->median_ns);
        if (compares) predicted |= put_bar(page, subject, m, subject->usual, unit->median_ns);
    }
    if (bar < models) snprintf(some, sizeof some, "%zu of %zu models; ", bar, models);
    snprintf(note, sizeof note, "%s%s%s", some,
             compares ? "bold: recommended; below it the baseline, 100 %"
                      : "with the recommended configuration",
             predicted ? "; ~: predicted" : "");
    rue_charts_add(
        page, charts,
        &(struct rue_chart){.kind = RUE_CHART_BARS,
                            .name = "answer",
                            .title = "Time of the job, by model",
                            .note = note,
                            .x = "config",
                            .value = "first",
                            .last = "computing",
                            .series = "model",
                            .caption = "caption",
                            .x_title = compares ? "time / time with the baseline" : "share of the time"});
}

/* ---- the poster ---- */

/* The code that loads, or the command that continues the study; a program that runs rue has a call for it. */
static void put_code(struct rue_page *page, const struct rue_findings *findings,
                     const struct rue_variant_findings *variant)
{
    char why[RUE_WHY_NOT_BYTES];
    const char *command = findings->run.command_line, *words = strchr(command, ' ');
    bool typed = words && !strstr(command, " --runner-fd") && strncmp(words, " analyze ", 9) != 0;
    if (rue_findings_is_decided(findings, variant))
        return rue_loading_code_put(page, findings, variant, RUE_LOOK_CODE, 0);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "Not decided, because %s", rue_findings_why_not(findings, variant, why));
    if (typed) rue_say(page, ": %s", rue_findings_next_step(findings, variant));
    rue_say(page, ".");
    rue_page_sentence(page, RUE_LOOK_CODE, 0);
    if (typed) rue_say(page, "%s%s", rue_program_name(), words);
}

size_t rue_poster_subject(const struct rue_findings *findings, const struct rue_compared *compared)
{
    size_t fastest = compared ? rue_compared_fastest(compared) : RUE_NONE;
    if (fastest != RUE_NONE) return fastest;
    for (size_t v = 0; v < findings->variant_count; v++)
        if (findings->variants[v].selection->recommended != RUE_NONE) return v;
    return 0;
}

/* "Use batch_size 128, num_workers 8 for raw folder data." */
static void put_answer(struct rue_page *page, const struct rue_findings *findings,
                       const struct rue_variant_findings *variant, enum rue_look look)
{
    size_t best = variant->selection->recommended;
    rue_page_sentence(page, look, 0);
    if (best == RUE_NONE) return rue_verdict_use(page, findings, variant);
    bool decided = rue_findings_is_decided(findings, variant);
    rue_say(page, "%s%s", !decided && rue_findings_is_unsteady(findings) ? "Not reliable. " : "",
            rue_verdict_lead(findings, variant));
    rue_say_recommended(page, variant);
    rue_verdict_data(page, findings, variant);
    rue_say(page, ".");
}

/* Those of other variants lead to their sections. */
static void put_answers(struct rue_page *page, const struct subject *subject)
{
    const struct rue_findings *findings = subject->findings;
    char heading[RUE_POSTER_HEADING_BYTES];
    put_answer(page, findings, subject->variant, RUE_LOOK_BOLD);
    for (size_t v = 0; v < findings->variant_count; v++) {
        if (&findings->variants[v] == subject->variant) continue;
        put_answer(page, findings, &findings->variants[v], RUE_LOOK_PLAIN);
        rue_page_link(page, rue_poster_heading(findings, v, heading));
    }
}

static struct subject make_subject(const struct rue_findings *findings, const struct rue_breakdown *breakdown,
                                   size_t v)
{
    const struct rue_variant_findings *variant = &findings->variants[v];
    return (struct subject){findings, breakdown, variant, variant->selection->recommended,
                            variant->baselines.count ? variant->baselines.rows[0].config : RUE_NONE};
}

static void put_charts(struct rue_page *page, const struct subject *subject)
{
    struct rue_chart_subject charts;
    rue_chart_subject_make(subject->findings, (size_t)(subject->variant - subject->findings->variants),
                           &charts);
    if (subject->variant->selection->ranked_count) rue_charts_map(page, &charts);
    if (subject->best != RUE_NONE) put_bars(page, &charts, subject);
}

static void put_figures_and_saving(struct rue_page *page, const struct subject *subject)
{
    if (subject->best == RUE_NONE) return;
    put_figures(page, subject);
    put_saving(page, subject);
}

const char *rue_poster_heading(const struct rue_findings *findings, size_t v,
                               char out[RUE_POSTER_HEADING_BYTES])
{
    char name[PATH_MAX + 128];
    rue_findings_name_among(findings, &findings->variants[v], name, sizeof name);
    snprintf(out, RUE_POSTER_HEADING_BYTES, "The answer for %s", name);
    return out;
}

void rue_poster_put_other(struct rue_page *page, const struct rue_findings *findings,
                          const struct rue_breakdown *breakdown, size_t v, const char *notes)
{
    const struct subject subject = make_subject(findings, breakdown, v);
    char heading[RUE_POSTER_HEADING_BYTES];
    rue_page_heading(page, 1);
    rue_say(page, "%s", rue_poster_heading(findings, v, heading));
    put_answer(page, findings, subject.variant, RUE_LOOK_BOLD);
    put_figures_and_saving(page, &subject);
    put_code(page, findings, subject.variant);
    put_caveats(page, &subject, notes);
    put_charts(page, &subject);
}

rue_status rue_poster_put(struct rue_page *page, const struct rue_findings *findings,
                          const struct rue_breakdown *breakdown, const struct rue_compared *compared,
                          const char *notes, rue_error *error)
{
    const struct subject subject = make_subject(findings, breakdown, rue_poster_subject(findings, compared));
    rue_status status = RUE_OK;
    if (compared)
        rue_compared_put_answer(page, compared);
    else
        put_answers(page, &subject);
    if (findings->variant_count > 1) {
        rue_page_gap(page);
        rue_page_sentence(page, RUE_LOOK_DIM, 0);
        rue_say(page, "Figures and charts below: ");
        rue_say_variant(page, findings, subject.variant);
        rue_say(page, ".");
    }
    put_figures_and_saving(page, &subject);
    if (!compared) status = rue_parts_comparisons(page, findings, false, error);
    put_code(page, findings, subject.variant);
    put_caveats(page, &subject, notes);
    put_charts(page, &subject);
    return status;
}
