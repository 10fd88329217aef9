#include "side_by_side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interval.h"
#include "json_document.h"
#include "json_findings.h"
#include "prose.h"
#include "units.h"

static const double least_gain = 0.05; /* of an epoch: less is no gain that a few trials could tell */

double rue_side_epoch_s(const struct rue_side *first, const struct rue_side *side, size_t model)
{
    const struct rue_variant_findings *variant = side->variant;
    size_t best = variant->selection->recommended;
    if (best == RUE_NONE || !variant->job.images || !first->variant->data.images) return NAN;
    return rue_cost_matrix_cell(variant->matrix, model, best)->median_ns / 1e9 / (double)variant->job.images *
           (double)first->variant->data.images;
}

/* The side at its best: its times, for epochs in seconds. */
static struct rue_saving_side at_best(const struct rue_side *first, const struct rue_side *side)
{
    const struct rue_variant_findings *variant = side->variant;
    double epoch_jobs = (double)first->variant->data.images / (double)variant->job.images;
    return (struct rue_saving_side){variant->matrix, variant->selection->recommended, epoch_jobs};
}

struct rue_payoff rue_side_payoff(const struct rue_side *first, const struct rue_side *side, size_t model)
{
    double before = rue_side_epoch_s(first, first, model);
    double saved = before - rue_side_epoch_s(first, side, model);
    if (side == first || side->build_s == 0) return (struct rue_payoff){.epochs = 0};
    if (isnan(saved) || isnan(side->build_s)) return (struct rue_payoff){.epochs = NAN};
    const struct rue_saving_side own = at_best(first, first), its = at_best(first, side);
    struct rue_saving_interval interval = rue_saving_interval_find(
        &own, &its, &(const size_t[2]){model, model}, 1,
        fmin(first->variant->interval.confidence, side->variant->interval.confidence));
    double low = interval.low_ns / 1e9, high = interval.high_ns / 1e9;
    bool saves = interval.confidence > 0 && low > 0;
    return (struct rue_payoff){.epochs =
                                   saves || saved > least_gain * before ? side->build_s / saved : INFINITY,
                               .confidence = interval.confidence,
                               .low_epochs = high > 0 ? side->build_s / high : INFINITY,
                               .high_epochs = low > 0 ? side->build_s / low : INFINITY};
}

/* ---- tables ---- */

/* Variants have numbers: their names are too long for the heads of columns. */
static void begin_row(struct rue_page *page, const struct rue_side_by_side *all, size_t side)
{
    rue_page_row(page, false);
    rue_put_words(page, "%zu %s", side + 1, all->sides[side].name);
}

static void put_loading(struct rue_page *page, const struct rue_side_loading *loading)
{
    rue_put_number(page, loading->images_per_s);
    rue_put_number(page, loading->first_batch_s * 1e9);
    rue_put_number(page, loading->cpu_s_per_image * 1e9);
    rue_put_number(page, loading->memory_bytes);
}

/* Of the variants, with `more` between its name and how it loads. */
static void begin_table(struct rue_page *page, const struct rue_table_column *more)
{
    static const struct rue_table_column variant = {.header = "variant", .shrink_to = 30};
    static const struct rue_table_column loading[] = {
        {.header = "images/s", .unit = RUE_UNIT_COUNT},
        {.header = "first batch", .unit = RUE_UNIT_DURATION, .drop = 1},
        {.header = "CPU per image", .unit = RUE_UNIT_DURATION, .drop = 2},
        {.header = "memory", .unit = RUE_UNIT_BYTES, .drop = 3}};
    rue_page_table(page, &variant, 1);
    if (more) rue_page_column(page, *more);
    for (size_t c = 0; c < sizeof loading / sizeof *loading; c++) rue_page_column(page, loading[c]);
}

static void put_own(struct rue_page *page, const struct rue_side_by_side *all)
{
    const struct rue_table_column best_column = {.header = "best", .unit = RUE_UNIT_CONFIG},
                                  storage = {.header = "on storage", .unit = RUE_UNIT_BYTES};
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "Each variant at its own best configuration (batch_size/num_workers), its loader alone:");
    begin_table(page, &best_column);
    rue_page_column(page, storage);
    for (size_t s = 0; s < all->side_count; s++) {
        const struct rue_side *side = &all->sides[s];
        size_t best = side->variant->selection->recommended;
        begin_row(page, all, s);
        if (best == RUE_NONE)
            rue_put_text(page, "-");
        else
            rue_put_config(page, &side->variant->matrix->configs[best]);
        put_loading(page, &side->own);
        rue_put_number(page, side->storage_bytes);
    }
    rue_page_gap(page);
}

static bool is_any_recommended(const struct rue_side_by_side *all)
{
    for (size_t s = 0; s < all->side_count; s++)
        if (all->sides[s].variant->selection->recommended != RUE_NONE) return true;
    return false;
}

static void put_common(struct rue_page *page, const struct rue_side_by_side *all)
{
    const struct rue_table_column regret = {.header = "mean regret", .unit = RUE_UNIT_PERCENT};
    char label[RUE_CONFIG_TEXT_BYTES];
    rue_config_label(&all->common, label);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    if (!all->has_common)
        rue_say(page, is_any_recommended(all)
                          ? "There is no configuration of which the time on every variant "
                            "and model is known, to compare them at."
                          : "Nothing could be recommended yet.");
    else
        rue_say(page, "All of them at %s, the one configuration that is %s:", label,
                all->common_predicted
                    ? "predicted to be best for all (it was not measured on every variant and model), and "
                      "the regret that is predicted of each"
                    : "best for all, and what it costs each");
    begin_table(page, NULL);
    rue_page_column(page, regret);
    for (size_t s = 0; all->has_common && s < all->side_count; s++) {
        begin_row(page, all, s);
        put_loading(page, &all->sides[s].common);
        rue_put_marked(page, all->common_predicted ? '~' : 0, all->sides[s].common_regret_ratio);
    }
    rue_page_gap(page);
}

static void put_epochs(struct rue_page *page, const struct rue_side_by_side *all)
{
    const struct rue_variant_findings *first = all->sides[0].variant;
    const struct rue_table_column model = {.header = "model", .shrink_to = 12};
    char job[RUE_UNIT_TEXT_BYTES], number[32];
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "An epoch of each model, ");
    if (first->job.images != first->data.images)
        rue_say(page, "extended from jobs of %s images, ",
                rue_format_count(first->job.images, job, sizeof job));
    rue_say(page, "each variant, by its number, at its own best:");
    rue_page_table(page, &model, 1);
    for (size_t s = 0; s < all->side_count; s++) {
        snprintf(number, sizeof number, "%zu", s + 1);
        rue_page_column(page, (struct rue_table_column){.header = number, .unit = RUE_UNIT_DURATION});
    }
    for (size_t m = 0; m < first->matrix->model_count; m++) {
        rue_page_row(page, false);
        rue_put_text(page, first->matrix->models[m]);
        for (size_t s = 0; s < all->side_count; s++)
            rue_put_number(page, 1e9 * rue_side_epoch_s(&all->sides[0], &all->sides[s], m));
    }
    rue_page_gap(page);
}

/* ---- sentences ---- */

/* For which models it pays, and when. */
static void say_payoffs(struct rue_page *page, const struct rue_side *first, const struct rue_side *side)
{
    const struct rue_cost_matrix *matrix = first->variant->matrix;
    size_t never = 0;
    const char *comma = "";
    for (size_t m = 0; m < matrix->model_count; m++) {
        const struct rue_payoff payoff = rue_side_payoff(first, side, m);
        never += isinf(payoff.epochs);
        if (!isfinite(payoff.epochs)) continue;
        rue_say(page, "%s", comma);
        rue_say_payback(page, payoff.epochs, payoff.confidence, payoff.low_epochs, payoff.high_epochs,
                        "epoch", matrix->models[m]);
        comma = ", ";
    }
    if (!comma[0])
        rue_say(page, "for no model: it does not pay");
    else if (never == 1)
        rue_say(page, ", and not at all for the other model");
    else if (never)
        rue_say(page, ", and not at all for the %zu other models", never);
    rue_say(page, ".");
}

/* When making one variant from the first pays, model by model. */
static void put_payoff(struct rue_page *page, const struct rue_side *first, const struct rue_side *side)
{
    char built[RUE_UNIT_TEXT_BYTES] = "";
    bool known = !isnan(rue_side_epoch_s(first, first, 0)) && !isnan(rue_side_epoch_s(first, side, 0));
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    rue_say(page, "%s: ", side->name);
    if (!isnan(side->build_s)) {
        rue_format_duration((uint64_t)(side->build_s * 1e9), built, sizeof built);
        rue_say(page, "making it takes about %s; it %s", built,
                known ? "pays " : "is not known whether it pays.");
        if (known) say_payoffs(page, first, side);
    } else if (side->cannot_be_made) {
        rue_say(page, "it cannot be made from the first: name what it can be made from first.");
    } else {
        rue_say(page, "what making it takes is not known.");
    }
}

static void put_payoffs(struct rue_page *page, const struct rue_side_by_side *all)
{
    const struct rue_side *first = &all->sides[0];
    size_t models = first->variant->matrix->model_count;
    bool sure = false;
    for (size_t i = 0; i < all->side_count * models; i++)
        sure |= rue_side_payoff(first, &all->sides[i / models], i % models).confidence > 0;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "When making another variant from %s pays (%s):", first->name,
            sure ? "within what the noise of trials leaves open; what making takes was measured once"
                 : "what saves less than a twentieth of an epoch may be noise, and does not count; --repeats "
                   "3 tells how much noise there is");
    for (size_t s = 1; s < all->side_count; s++) put_payoff(page, first, &all->sides[s]);
}

/* What was measured: whose images, how many, how they were read. */
static void put_job(struct rue_page *page, const struct rue_side_by_side *all)
{
    const struct rue_variant_findings *first = all->sides[0].variant;
    char count[RUE_UNIT_TEXT_BYTES];
    bool levels = first->job.workload.batch_dtype != RUE_FLOAT32;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "Job of %s image%s%s%s, read %s.", rue_format_count(first->job.images, count, sizeof count),
            rue_prose_plural(first->job.images), levels ? " in batches of " : "",
            levels ? rue_dtype_names[first->job.workload.batch_dtype] : "", all->sides[0].cache);
    for (size_t s = 1; s < all->side_count; s++) {
        const struct rue_side *side = &all->sides[s];
        if (strcmp(side->cache, all->sides[0].cache) != 0)
            rue_say(page, " %s was read %s.", side->name, side->cache);
        if (side->variant->data.images != first->data.images)
            rue_say(page, " %s holds %s images, not as many as the first.", side->name,
                    rue_format_count(side->variant->data.images, count, sizeof count));
    }
    rue_page_gap(page);
}

rue_status rue_side_by_side_show(const struct rue_side_by_side *all, const struct rue_report_style *style,
                                 FILE *stream, rue_error *error)
{
    struct rue_page page = {0};
    put_job(&page, all);
    put_own(&page, all);
    put_common(&page, all);
    put_epochs(&page, all);
    put_payoffs(&page, all);
    rue_status status = rue_page_write(&page, style, stream, error);
    rue_page_close(&page);
    return status;
}

/* ---- JSON ---- */

static json_t *loading_json(const struct rue_side_loading *loading)
{
    return rue_json_make("images_per_s:r first_batch_ns:d cpu_ns_per_image:r anon_peak_bytes:d",
                         loading->images_per_s, loading->first_batch_s * 1e9, loading->cpu_s_per_image * 1e9,
                         loading->memory_bytes);
}

static json_t *payoff_json(const struct rue_side *first, const struct rue_side *side, size_t model)
{
    const struct rue_payoff payoff = rue_side_payoff(first, side, model);
    double epochs = side == first ? NAN : payoff.epochs;
    json_t *interval = json_null();
    if (payoff.confidence > 0)
        interval = rue_json_make("confidence:r low_epochs:r high_epochs:r", payoff.confidence,
                                 payoff.low_epochs, payoff.high_epochs);
    return rue_json_make("model:t epoch_ns:d break_even_epochs:r break_even_interval:o pays:o",
                         side->variant->matrix->models[model], rue_side_epoch_s(first, side, model) * 1e9,
                         epochs, interval, isnan(epochs) ? json_null() : json_boolean(isfinite(epochs)));
}

static json_t *side_json(const struct rue_side *first, const struct rue_side *side)
{
    const struct rue_variant *variant = &side->variant->variant;
    json_t *models = json_array(),
           *object =
               rue_json_make("name:t mode:t format:t dtype:T path:T data_images:n cache:t batch_dtype:t",
                             side->name, rue_mode_names[variant->mode], variant->format, variant->dtype,
                             variant->path, side->variant->data.images, side->cache,
                             rue_dtype_names[side->variant->job.workload.batch_dtype]);
    rue_json_put(&object, "storage_bytes", rue_json_nanoseconds(side->storage_bytes));
    rue_json_put(&object, "config",
                 rue_json_config_of(side->variant, side->variant->selection->recommended, true));
    rue_json_put(&object, "at_its_best", loading_json(&side->own));
    rue_json_put(&object, "at_the_common", loading_json(&side->common));
    rue_json_put(&object, "common_mean_regret_ratio", rue_json_real(side->common_regret_ratio));
    rue_json_put(&object, "build_ns", rue_json_nanoseconds(side->build_s * 1e9));
    for (size_t m = 0; m < side->variant->matrix->model_count; m++)
        rue_json_push(&models, payoff_json(first, side, m));
    rue_json_put(&object, "models", models);
    return object;
}

rue_status rue_side_by_side_json(const struct rue_side_by_side *all, FILE *stream, rue_error *error)
{
    json_t *sides = json_array(),
           *common = all->has_common ? rue_json_config(&all->common, true) : json_null();
    const char *source = all->common_predicted ? "predicted" : "measured";
    for (size_t s = 0; s < all->side_count; s++)
        rue_json_push(&sides, side_json(&all->sides[0], &all->sides[s]));
    json_t *root =
        rue_json_make("format:t job_images:n sample_images:n common_config:o common_source:T variants:o "
                      "partial:b",
                      "rue.compare/1", all->sides[0].variant->job.images, all->sample_images, common,
                      all->has_common ? source : "", sides, all->findings->run.partial);
    return rue_json_write(root, stream, error);
}
