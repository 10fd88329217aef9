/* Which variant to use, what each needs, and when making it from the first one pays back. As tables, and as
 * JSON "rue.compare/2". */
#include "report_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comparison_table.h"
#include "json_findings.h"
#include "page_writers.h"
#include "prose.h"
#include "report.h"
#include "units.h"
#include "verdict.h"

static const double least_gain = 0.05; /* smaller gains do not justify another variant */

struct rue_compared {
    const struct rue_findings *findings;
    struct rue_comparison **with_first; /* [variant_count] comparisons with the first; NULL: impossible */
    bool comparable;                    /* at least one is possible */
    size_t store_count;                 /* variants that are stored in chunks */
    struct rue_comparison *stores;      /* from the second fastest to the fastest store; NULL: impossible */
};

bool rue_compared_is(const struct rue_findings *findings)
{
    static const char command[] = "rue compare ";
    return strncmp(findings->run.command_line, command, strlen(command)) == 0;
}

void rue_compared_close(struct rue_compared *compared)
{
    if (!compared) return;
    for (size_t v = 0; compared->with_first && v < compared->findings->variant_count; v++)
        rue_comparison_close(compared->with_first[v]);
    free(compared->with_first);
    rue_comparison_close(compared->stores);
    free(compared);
}

static double mean_speedup(const struct rue_compared *compared, size_t v)
{
    if (v == 0) return compared->comparable ? 1 : NAN;
    return compared->with_first[v] ? compared->with_first[v]->mean_speedup_ratio : NAN;
}

static rue_status compare_stores(struct rue_compared *out, rue_error *error)
{
    const struct rue_variant_findings *variants = out->findings->variants;
    size_t best = RUE_NONE, next = RUE_NONE;
    for (size_t v = 0; v < out->findings->variant_count; v++) {
        if (!variants[v].data.layout[0]) continue;
        out->store_count++;
        if (isnan(mean_speedup(out, v))) continue;
        if (best == RUE_NONE || mean_speedup(out, v) > mean_speedup(out, best))
            next = best, best = v;
        else if (next == RUE_NONE || mean_speedup(out, v) > mean_speedup(out, next))
            next = v;
    }
    if (next == RUE_NONE) return RUE_OK;
    return rue_comparison_open(out->findings, &variants[next], &variants[best], &out->stores, error);
}

rue_status rue_compared_open(const struct rue_findings *findings, struct rue_compared **out, rue_error *error)
{
    size_t count = findings->variant_count;
    struct rue_compared *compared = calloc(1, sizeof *compared);
    if (compared) compared->findings = findings;
    if (compared) compared->with_first = calloc(count + 1, sizeof(struct rue_comparison *));
    rue_status status = compared && compared->with_first
                            ? RUE_OK
                            : rue_fail_memory(error, "a comparison", count * sizeof(struct rue_comparison *));
    for (size_t v = 1; status == RUE_OK && v < count; v++) {
        status = rue_comparison_open(findings, &findings->variants[0], &findings->variants[v],
                                     &compared->with_first[v], error);
        compared->comparable |= compared->with_first[v] != NULL;
    }
    if (status == RUE_OK) status = compare_stores(compared, error);
    if (status == RUE_OK)
        *out = compared;
    else
        rue_compared_close(compared);
    return status;
}

static bool is_winner_trial(const struct rue_trial_row *row, const struct rue_variant_findings *variant)
{
    return row->request.measure == RUE_JOINT && row->result.outcome == RUE_TRIAL_OK &&
           strcmp(row->request.variant.path, variant->variant.path) == 0 &&
           rue_config_equal(&row->request.config, &variant->matrix->configs[variant->selection->recommended]);
}

/* Peak anonymous memory, and CPU time per image, of its best configuration; NaN: unknown. */
static void find_usage(const struct rue_findings *findings, const struct rue_variant_findings *variant,
                       double *memory_bytes, double *cpu_ns)
{
    double images = 0, sum_ns = 0;
    *memory_bytes = NAN;
    struct rue_trial_row row;
    for (size_t i = 0; findings->row_at && findings->row_at(findings->row_context, i, &row); i++) {
        if (!is_winner_trial(&row, variant)) continue;
        if (row.result.anon_peak_bytes > 0)
            *memory_bytes = fmax(*memory_bytes, (double)row.result.anon_peak_bytes);
        sum_ns += row.result.cpu_ratio * (double)row.result.end_to_end_ns;
        images += (double)row.result.images;
    }
    *cpu_ns = sum_ns / images;
}

/* Time to make the whole variant from the first one; NaN: unknown. */
static double build_ns(const struct rue_compared *compared, size_t v)
{
    double build_s = compared->findings->variants[v].data.build_s_per_image;
    if (v == 0) return 0;
    return build_s > 0 ? build_s * 1e9 * (double)compared->findings->variants[0].data.images : NAN;
}

/* The best configuration for all variants; NULL: none. */
static const struct rue_overall *find_common(const struct rue_findings *findings)
{
    if (findings->overall_count == 0) return NULL;
    const struct rue_overall *last = &findings->overall[findings->overall_count - 1];
    return last->part_count == findings->variant_count && last->selection->recommended != RUE_NONE ? last
                                                                                                   : NULL;
}

static void put_variant(struct rue_page *page, const struct rue_compared *compared, size_t v)
{
    const struct rue_findings *findings = compared->findings;
    const struct rue_variant_findings *variant = &findings->variants[v];
    const struct rue_overall *common = find_common(findings);
    char name[PATH_MAX + 128];
    double memory_bytes = NAN, cpu_ns = NAN;
    size_t best = variant->selection->recommended;
    if (best != RUE_NONE) find_usage(findings, variant, &memory_bytes, &cpu_ns);
    size_t mode = rue_findings_name_among(findings, variant, name, sizeof name);
    if (!variant->data.layout[0]) mode = 0; /* chunks need its place */
    const struct rue_queue_findings *queue = &variant->trials.queue;
    double storage_bytes = variant->data.storage_bytes;
    const struct rue_table_column row[] = {
        {"variant", "variant", .text = name + mode, .shrink_to = 30},
        {"config", "best config", .config = best == RUE_NONE ? NULL : &variant->matrix->configs[best]},
        {"speedup_ratio", "speed-up", RUE_UNIT_TIMES, .number = mean_speedup(compared, v)},
        {"cpu_ns_per_image", "CPU per image", RUE_UNIT_DURATION, .number = cpu_ns, .drop = 1},
        {"anon_peak_bytes", "memory", RUE_UNIT_BYTES, .number = memory_bytes, .drop = 4},
        {"storage_bytes", "storage", RUE_UNIT_BYTES, .number = storage_bytes > 0 ? storage_bytes : NAN,
         .drop = 4},
        {"build_ns", "time to make", RUE_UNIT_DURATION, .number = build_ns(compared, v), .drop = 3},
        {"data_images", NULL, RUE_UNIT_COUNT, .number = (double)variant->data.images},
        {"path", .text = variant->variant.path},
        {"cache", .text = variant->job.workload.cache},
        {"common_mean_regret_ratio", NULL, RUE_UNIT_NUMBER,
         .number = common ? common->parts[v].mean_regret_ratio : NAN},
        {"queue_bound", NULL, RUE_UNIT_COUNT, .number = (double)queue->bound},
        {"queue_uneven", NULL, RUE_UNIT_COUNT, .number = (double)queue->uneven},
        {"queue_ample", NULL, RUE_UNIT_COUNT, .number = (double)queue->ample},
        {"queue_batch_ns", NULL, RUE_UNIT_COUNT, .number = (double)queue->batch_ns},
    };
    rue_page_row(page, false, row, sizeof row / sizeof *row);
}

static void put_variants(struct rue_page *page, const struct rue_compared *compared)
{
    rue_page_table(page);
    for (size_t v = 0; v < compared->findings->variant_count; v++) put_variant(page, compared, v);
}

static void say_job(struct rue_page *page, const struct rue_findings *findings)
{
    const struct rue_variant_findings *first = &findings->variants[0];
    char count[RUE_UNIT_TEXT_BYTES];
    bool levels = first->job.workload.batch_dtype != RUE_FLOAT32;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "Job of %s image%s", rue_format_count(first->job.images, count, sizeof count),
            rue_prose_plural(first->job.images));
    rue_say_ranks(page, first);
    rue_say(page, "%s%s, data read %s, each variant with its own best configuration:",
            levels ? " in batches of " : "", levels ? rue_dtype_names[first->job.workload.batch_dtype] : "",
            first->job.workload.cache);
}

size_t rue_compared_fastest(const struct rue_compared *compared)
{
    size_t best = 0;
    if (!compared->comparable) return RUE_NONE;
    for (size_t v = 1; v < compared->findings->variant_count; v++)
        if (mean_speedup(compared, v) * (1 - least_gain) > 1 &&
            !(mean_speedup(compared, v) <= mean_speedup(compared, best)))
            best = v;
    return best;
}

static void say_gain(struct rue_page *page, const struct rue_compared *compared, size_t best)
{
    const struct rue_comparison *comparison = compared->with_first[best];
    char times[RUE_UNIT_TEXT_BYTES];
    rue_say(page, ": %s times as fast as ",
            rue_format_times(comparison->mean_speedup_ratio, times, sizeof times));
    rue_say_variant(page, compared->findings, &compared->findings->variants[0]);
    if (comparison->row_count > 1) rue_say(page, " (geometric mean over %zu models)", comparison->row_count);
    rue_verdict_payback(page, comparison, "; making it ");
    rue_say(page, ".");
}

static void say_use(struct rue_page *page, const struct rue_compared *compared)
{
    const struct rue_findings *findings = compared->findings;
    size_t best = rue_compared_fastest(compared);
    rue_page_sentence(page, RUE_LOOK_BOLD, 0);
    if (best == RUE_NONE) return;
    const struct rue_variant_findings *variant = &findings->variants[best];
    rue_say(page, "%s", rue_verdict_lead(findings, variant));
    rue_say_variant(page, findings, variant);
    rue_say(page, " with ");
    rue_say_recommended(page, variant);
    if (best == 0)
        rue_say(page, ": no other variant is more than %.0f %% faster.", 100 * least_gain);
    else
        say_gain(page, compared, best);
}

/* With what weakens it. */
static void say_answer(struct rue_page *page, const struct rue_compared *compared)
{
    say_use(page, compared);
    if (!compared->comparable) return;
    rue_say(page, rue_findings_is_doubtful(compared->findings) ? " " : "");
    rue_verdict_confidence(page, compared->findings);
}

/* Variants that cannot be compared. */
static void put_others(struct rue_page *page, const struct rue_compared *compared)
{
    const struct rue_findings *findings = compared->findings;
    for (size_t v = 0; v < findings->variant_count; v++) {
        rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
        if (v ? !compared->with_first[v] : !compared->comparable)
            rue_verdict_use(page, findings, &findings->variants[v]);
    }
}

static void put_noise(struct rue_page *page, const struct rue_compared *compared, size_t v)
{
    const struct rue_saving_interval *saved = &compared->with_first[v]->saving.interval;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    if (saved->confidence > 0 && saved->low_ns < 0 && saved->high_ns > 0)
        rue_say(page,
                "The difference between the two is within the noise of the trials (%.3g %% confidence).",
                100 * saved->confidence);
}

/* Says why the common configuration can look better than a variant's own. */
static void put_common(struct rue_page *page, const struct rue_compared *compared,
                       const struct rue_overall *common)
{
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_verdict_overall(page, common);
    for (size_t v = 0; v < compared->findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &compared->findings->variants[v];
        const struct rue_selection *selection = variant->selection;
        if (selection->recommended == RUE_NONE ||
            !(common->parts[v].mean_regret_ratio < selection->rows[selection->recommended].mean_regret_ratio))
            continue;
        rue_say(page, " For %s it looks better than its own, but by less than the noise.",
                common->parts[v].name);
    }
}

/* Which chunks and codec pay. */
static void say_stores(struct rue_page *page, const struct rue_compared *compared)
{
    const struct rue_comparison *stores = compared->stores;
    if (!stores || stores->saving.interval.confidence <= 0) return; /* no repeats */
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "Of the %zu %s stores, ", compared->store_count, stores->after->variant.format);
    if (stores->saving.interval.low_ns <= 0) {
        rue_say(page, "none is proven to be the fastest.");
        return;
    }
    double more = stores->after->data.storage_bytes - stores->before->data.storage_bytes;
    char bytes[RUE_UNIT_TEXT_BYTES];
    rue_say_variant(page, compared->findings, stores->after);
    rue_say(page, " is the fastest: %.0f %% less time than ", 100 - 100 / stores->mean_speedup_ratio);
    rue_say_variant(page, compared->findings, stores->before);
    if (stores->after->data.storage_bytes > 0 && stores->before->data.storage_bytes > 0)
        rue_say(page, ", %s %s storage", rue_format_bytes((uint64_t)fabs(more), bytes, sizeof bytes),
                more < 0 ? "less" : "more");
    rue_say(page, ".");
}

void rue_compared_put_answer(struct rue_page *page, const struct rue_compared *compared)
{
    say_use(page, compared);
    put_others(page, compared);
    say_job(page, compared->findings);
    put_variants(page, compared);
}

void rue_compared_put_details(struct rue_page *page, const struct rue_compared *compared, bool brief)
{
    const struct rue_findings *findings = compared->findings;
    const struct rue_overall *common = find_common(findings);
    for (size_t v = 0; v < findings->variant_count; v++) {
        rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
        rue_verdict_queue(page, findings, &findings->variants[v], brief);
        rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
        rue_verdict_batches(page, findings, &findings->variants[v], true);
    }
    say_stores(page, compared);
    rue_page_gap(page);
    for (size_t v = 1; v < findings->variant_count; v++) {
        if (!compared->with_first[v]) continue;
        rue_comparison_put(page, findings, compared->with_first[v]);
        put_noise(page, compared, v);
        rue_page_gap(page);
    }
    if (common) put_common(page, compared, common);
    rue_page_gap(page);
}

static void put_page(struct rue_page *page, const struct rue_compared *compared, bool brief)
{
    const struct rue_findings *findings = compared->findings;
    rue_page_sentence(page, RUE_LOOK_BOLD, 0);
    rue_verdict_partial(page, findings);
    say_answer(page, compared);
    put_others(page, compared);
    rue_page_gap(page);
    say_job(page, findings);
    put_variants(page, compared);
    rue_compared_put_details(page, compared, brief);
    rue_verdict_background(page, findings, false);
}

static rue_status render(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error)
{
    struct rue_compared *compared;
    struct rue_page page = {0};
    rue_status status = rue_compared_open(findings, &compared, error);
    if (status != RUE_OK) return status;
    put_page(&page, compared, style->brief);
    status = rue_page_write(&page, style, stream, error);
    rue_page_close(&page);
    rue_compared_close(compared);
    return status;
}

static json_t *comparisons_json(const struct rue_compared *compared)
{
    json_t *array = json_array();
    char name[PATH_MAX + 128];
    for (size_t v = 1; v < compared->findings->variant_count; v++) {
        struct rue_page page = {0};
        if (!compared->with_first[v]) continue;
        rue_comparison_put(&page, compared->findings, compared->with_first[v]);
        rue_findings_name_among(compared->findings, &compared->findings->variants[v], name, sizeof name);
        rue_json_push(&array, rue_json_make("variant:t models:o", name, rue_page_json_table(&page)));
    }
    return array;
}

static rue_status render_json(const struct rue_findings *findings, const struct rue_report_style *style,
                              FILE *stream, rue_error *error)
{
    (void)style;
    struct rue_compared *compared;
    struct rue_page page = {0}, answer = {0};
    const struct rue_overall *common = find_common(findings);
    const struct rue_variant_findings *undecided = rue_findings_first_undecided(findings);
    char why[RUE_WHY_NOT_BYTES] = "";
    if (undecided) rue_findings_why_not(findings, undecided, why);
    rue_status status = rue_compared_open(findings, &compared, error);
    if (status != RUE_OK) return status;
    put_variants(&page, compared);
    say_answer(&answer, compared);
    json_t *root = rue_json_make(
        "format:t job_images:n common_config:o common_predicted:b variants:o comparisons:o answer:o "
        "partial:b decided:b why_not:T low_confidence:b",
        "rue.compare/2", findings->variants[0].job.images,
        common ? rue_json_config(&common->matrix->configs[common->selection->recommended], false)
               : json_null(),
        common && rue_findings_basis(&common->selection->rows[common->selection->recommended]) ==
                      RUE_BASIS_PREDICTED,
        rue_page_json_table(&page), comparisons_json(compared), rue_page_json_text(&answer),
        findings->run.partial, !undecided, why, rue_findings_is_doubtful(findings));
    rue_compared_close(compared);
    return rue_json_write(root, stream, error);
}

const struct rue_report rue_report_compare = {.name = "compare", .file = NULL, .render = render},
                        rue_report_compare_json = {
                            .name = "compare-json", .file = NULL, .render = render_json};
