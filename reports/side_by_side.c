#include "side_by_side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interval.h"
#include "json_document.h"
#include "json_findings.h"
#include "prose.h"
#include "text_table.h"
#include "units.h"
#include "utf8.h"

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

/* Of each side and model. Owned by the caller. */
static rue_status find_payoffs(const struct rue_side_by_side *all, struct rue_payoff **out, rue_error *error)
{
    size_t models = all->sides[0].variant->matrix->model_count, count = all->side_count * models;
    struct rue_payoff *payoffs = calloc(count + 1, sizeof *payoffs);
    if (!payoffs) return rue_fail_memory(error, "what pays", count * sizeof *payoffs);
    for (size_t i = 0; i < count; i++)
        payoffs[i] = rue_side_payoff(&all->sides[0], &all->sides[i / models], i % models);
    *out = payoffs;
    return RUE_OK;
}

/* ---- tables ---- */

struct page {
    const struct rue_side_by_side *all;
    const struct rue_report_style *style;
    FILE *stream;
    struct rue_text_table *table;
    const struct rue_payoff *payoffs; /* [sides][models] */
};

static void add_column(const struct page *page, const char *header, bool right, int shrink_to, int drop)
{
    struct rue_text_column column = {.right = right, .shrink_to = shrink_to, .drop = drop};
    snprintf(column.header, sizeof column.header, "%s", header);
    rue_text_table_column(page->table, column);
}

static void begin_table(const struct page *page)
{
    rue_text_table_clear(page->table, page->style->unicode);
    add_column(page, "variant", false, 30, 0);
}

/* Variants have numbers: their names are too long for the heads of columns. */
static void name_row(const struct page *page, size_t side)
{
    rue_text_table_cell(page->table, 0, "%zu %s", side + 1, page->all->sides[side].name);
}

static void put_line(const struct page *page, const char *text, int indent)
{
    rue_wrap(page->stream, text, page->style->columns, indent);
    fputc('\n', page->stream);
}

static void end_table(const struct page *page, const char *heading)
{
    put_line(page, heading, 0);
    rue_text_table_print(page->table, page->style, page->stream);
    fputc('\n', page->stream);
}

static const char *or_dash(double value, const char *text)
{
    return isfinite(value) ? text : "-";
}

static const char *duration(double seconds, char text[RUE_UNIT_TEXT_BYTES])
{
    return isfinite(seconds) ? rue_format_duration((uint64_t)(seconds * 1e9), text, RUE_UNIT_TEXT_BYTES)
                             : "-";
}

static const char *bytes(double value, char text[RUE_UNIT_TEXT_BYTES])
{
    return isfinite(value) ? rue_format_bytes((uint64_t)value, text, RUE_UNIT_TEXT_BYTES) : "-";
}

static void add_loading_columns(const struct page *page)
{
    add_column(page, "images/s", true, 0, 0);
    add_column(page, "first batch", true, 0, 1);
    add_column(page, "CPU per image", true, 0, 2);
    add_column(page, "memory", true, 0, 3);
}

static int fill_loading(const struct page *page, const struct rue_side_loading *loading, int column)
{
    char text[RUE_UNIT_TEXT_BYTES];
    double rate = isfinite(loading->images_per_s) ? loading->images_per_s : 0;
    rue_format_count((uint64_t)(rate + 0.5), text, sizeof text);
    rue_text_table_cell(page->table, column++, "%s", or_dash(loading->images_per_s, text));
    rue_text_table_cell(page->table, column++, "%s", duration(loading->first_batch_s, text));
    rue_text_table_cell(page->table, column++, "%s", duration(loading->cpu_s_per_image, text));
    rue_text_table_cell(page->table, column++, "%s", bytes(loading->memory_bytes, text));
    return column;
}

static void put_own(const struct page *page)
{
    begin_table(page);
    add_column(page, "best", false, 0, 0);
    add_loading_columns(page);
    add_column(page, "on storage", true, 0, 0);
    for (size_t s = 0; s < page->all->side_count; s++) {
        const struct rue_side *side = &page->all->sides[s];
        char label[RUE_CONFIG_TEXT_BYTES] = "-", text[RUE_UNIT_TEXT_BYTES];
        size_t best = side->variant->selection->recommended;
        if (!rue_text_table_row(page->table, false)) break;
        if (best != RUE_NONE) rue_config_label(&side->variant->matrix->configs[best], label);
        name_row(page, s);
        rue_text_table_cell(page->table, 1, "%s", label);
        int column = fill_loading(page, &side->own, 2);
        rue_text_table_cell(page->table, column, "%s", bytes(side->storage_bytes, text));
    }
    end_table(page, "Each variant at its own best configuration (batch_size/num_workers), its loader alone:");
}

static bool is_any_recommended(const struct rue_side_by_side *all)
{
    for (size_t s = 0; s < all->side_count; s++)
        if (all->sides[s].variant->selection->recommended != RUE_NONE) return true;
    return false;
}

static void put_common(const struct page *page)
{
    char label[RUE_CONFIG_TEXT_BYTES], heading[256];
    if (!page->all->has_common) {
        put_line(page,
                 is_any_recommended(page->all) ? "There is no configuration of which the time on every "
                                                 "variant and model is known, to compare them at."
                                               : "Nothing could be recommended yet.",
                 0);
        fputc('\n', page->stream);
        return;
    }
    begin_table(page);
    add_loading_columns(page);
    add_column(page, "mean regret", true, 0, 0);
    for (size_t s = 0; s < page->all->side_count; s++) {
        const struct rue_side *side = &page->all->sides[s];
        char regret[32];
        if (!rue_text_table_row(page->table, false)) break;
        snprintf(regret, sizeof regret, "%s%.1f %%", page->all->common_predicted ? "~" : "",
                 100 * side->common_regret_ratio);
        name_row(page, s);
        int column = fill_loading(page, &side->common, 1);
        rue_text_table_cell(page->table, column, "%s", or_dash(side->common_regret_ratio, regret));
    }
    rue_config_label(&page->all->common, label);
    snprintf(
        heading, sizeof heading,
        page->all->common_predicted
            ? "All of them at %s, the one configuration that is predicted to be best for all (it was not "
              "measured on every variant and model), and the regret that is predicted of each:"
            : "All of them at %s, the one configuration that is best for all, and what it costs each:",
        label);
    end_table(page, heading);
}

static void put_epochs(const struct page *page)
{
    const struct rue_side_by_side *all = page->all;
    const struct rue_cost_matrix *matrix = all->sides[0].variant->matrix;
    rue_text_table_clear(page->table, page->style->unicode);
    add_column(page, "model", false, 12, 0);
    for (size_t s = 0; s < all->side_count; s++) {
        char number[32];
        snprintf(number, sizeof number, "%zu", s + 1);
        add_column(page, number, true, 0, 0);
    }
    for (size_t m = 0; m < matrix->model_count; m++) {
        if (!rue_text_table_row(page->table, false)) break;
        rue_text_table_cell(page->table, 0, "%s", matrix->models[m]);
        for (size_t s = 0; s < all->side_count; s++) {
            char text[RUE_UNIT_TEXT_BYTES];
            rue_text_table_cell(page->table, (int)s + 1, "%s",
                                duration(rue_side_epoch_s(&all->sides[0], &all->sides[s], m), text));
        }
    }
    const struct rue_variant_findings *first = all->sides[0].variant;
    char heading[256] = "An epoch of each model, each variant, by its number, at its own best:",
         job[RUE_UNIT_TEXT_BYTES];
    if (first->job.images != first->data.images)
        snprintf(
            heading, sizeof heading,
            "An epoch of each model, extended from jobs of %s images, each variant, by its number, at its "
            "own best:",
            rue_format_count(first->job.images, job, sizeof job));
    end_table(page, heading);
}

/* ---- sentences ---- */

static void say_payoff(struct rue_prose *prose, const struct rue_payoff *payoff, const char *model)
{
    bool sure = payoff->confidence > 0;
    rue_prose_say_payback(prose, payoff->epochs, sure, "epoch");
    rue_prose_say(prose, " of %s", model);
    if (sure)
        rue_prose_say_payback_interval(prose, payoff->confidence, payoff->low_epochs, payoff->high_epochs);
}

/* When making one variant from the first pays, model by model. */
static void put_payoff(const struct page *page, size_t index)
{
    const struct rue_side *first = &page->all->sides[0], *side = &page->all->sides[index];
    const struct rue_cost_matrix *matrix = first->variant->matrix;
    char text[4096], name[PATH_MAX], clean[RUE_PROSE_NAME_BYTES], built[RUE_UNIT_TEXT_BYTES];
    struct rue_prose prose = rue_prose_start(text, sizeof text);
    bool said = false;
    rue_utf8_clean(side->name, page->style->unicode, name, sizeof name);
    rue_prose_say(&prose, "%s: ", name);
    bool known = !isnan(rue_side_epoch_s(first, first, 0)) && !isnan(rue_side_epoch_s(first, side, 0));
    if (isnan(side->build_s) || !known) {
        if (side->cannot_be_made)
            rue_prose_say(&prose, "it cannot be made from the first: name what it can be made from first.");
        else if (isnan(side->build_s))
            rue_prose_say(&prose, "what making it takes is not known.");
        else
            rue_prose_say(&prose, "making it takes about %s; it is not known whether it pays.",
                          duration(side->build_s, built));
        put_line(page, text, 2);
        return;
    }
    rue_prose_say(&prose, "making it takes about %s; it pays ", duration(side->build_s, built));
    size_t never = 0, models = matrix->model_count;
    for (size_t m = 0; m < models; m++) {
        const struct rue_payoff *payoff = &page->payoffs[index * models + m];
        never += isinf(payoff->epochs);
        if (!isfinite(payoff->epochs)) continue;
        rue_utf8_clean(matrix->models[m], page->style->unicode, clean, sizeof clean);
        if (said) rue_prose_say(&prose, ", ");
        say_payoff(&prose, payoff, clean);
        said = true;
    }
    if (!said)
        rue_prose_say(&prose, "for no model: it does not pay");
    else if (never == 1)
        rue_prose_say(&prose, ", and not at all for the other model");
    else if (never)
        rue_prose_say(&prose, ", and not at all for the %zu other models", never);
    rue_prose_say(&prose, ".");
    put_line(page, text, 2);
}

static bool is_any_sure(const struct page *page)
{
    size_t models = page->all->sides[0].variant->matrix->model_count;
    for (size_t i = 0; i < page->all->side_count * models; i++)
        if (page->payoffs[i].confidence > 0) return true;
    return false;
}

static void put_payoffs(const struct page *page)
{
    char heading[PATH_MAX + 256], name[PATH_MAX];
    rue_utf8_clean(page->all->sides[0].name, page->style->unicode, name, sizeof name);
    snprintf(heading, sizeof heading, "When making another variant from %s pays (%s):", name,
             is_any_sure(page)
                 ? "within what the noise of trials leaves open; what making takes was measured "
                   "once"
                 : "what saves less than a twentieth of an epoch may be noise, "
                   "and does not count; --repeats 3 tells how much noise there is");
    put_line(page, heading, 0);
    for (size_t s = 1; s < page->all->side_count; s++) put_payoff(page, s);
}

/* What was measured: whose images, how many, how they were read. */
static void put_job(const struct page *page)
{
    const struct rue_side_by_side *all = page->all;
    const struct rue_variant_findings *first = all->sides[0].variant;
    char job[RUE_UNIT_TEXT_BYTES], count[RUE_UNIT_TEXT_BYTES], name[PATH_MAX], text[2 * PATH_MAX];
    snprintf(text, sizeof text, "Job of %s image%s%s%s, read %s.",
             rue_format_count(first->job.images, job, sizeof job), first->job.images == 1 ? "" : "s",
             first->job.batch_dtype == RUE_FLOAT32 ? "" : " in batches of ",
             first->job.batch_dtype == RUE_FLOAT32 ? "" : rue_dtype_names[first->job.batch_dtype],
             all->sides[0].cache);
    for (size_t s = 1; s < all->side_count; s++) {
        const struct rue_side *side = &all->sides[s];
        size_t used = strlen(text);
        rue_utf8_clean(side->name, page->style->unicode, name, sizeof name);
        if (strcmp(side->cache, all->sides[0].cache) != 0)
            used += (size_t)snprintf(text + used, sizeof text - used, " %s was read %s.", name, side->cache);
        if (side->variant->data.images != first->data.images && used < sizeof text)
            snprintf(text + used, sizeof text - used, " %s holds %s images, not as many as the first.", name,
                     rue_format_count(side->variant->data.images, count, sizeof count));
    }
    put_line(page, text, 0);
    fputc('\n', page->stream);
}

rue_status rue_side_by_side_show(const struct rue_side_by_side *all, const struct rue_report_style *style,
                                 FILE *stream, rue_error *error)
{
    struct rue_payoff *payoffs = NULL;
    rue_status status = find_payoffs(all, &payoffs, error);
    if (status != RUE_OK) return status;
    struct page page = {all, style, stream, calloc(1, sizeof *page.table), payoffs};
    if (!page.table) return free(payoffs), rue_fail_memory(error, "the table", sizeof *page.table);
    put_job(&page);
    put_own(&page);
    put_common(&page);
    put_epochs(&page);
    put_payoffs(&page);
    free(page.table);
    free(payoffs);
    return rue_report_finish(stream, error);
}

/* ---- JSON ---- */

static json_t *loading_json(struct rue_json_document *document, const struct rue_side_loading *loading)
{
    json_t *object = json_object();
    rue_json_put(document, object, "images_per_s", rue_json_real(loading->images_per_s));
    rue_json_put(document, object, "first_batch_ns", rue_json_nanoseconds(loading->first_batch_s * 1e9));
    rue_json_put(document, object, "cpu_ns_per_image", rue_json_real(loading->cpu_s_per_image * 1e9));
    rue_json_put(document, object, "anon_peak_bytes", rue_json_nanoseconds(loading->memory_bytes));
    return object;
}

static json_t *interval_json(struct rue_json_document *document, const struct rue_payoff *payoff)
{
    if (payoff->confidence == 0) return json_null();
    json_t *object = json_object();
    rue_json_put(document, object, "confidence", rue_json_real(payoff->confidence));
    rue_json_put(document, object, "low_epochs", rue_json_real(payoff->low_epochs));
    rue_json_put(document, object, "high_epochs", rue_json_real(payoff->high_epochs));
    return object;
}

static json_t *payoff_json(struct rue_json_document *document, const struct rue_side *first,
                           const struct rue_side *side, size_t model, const struct rue_payoff *payoff)
{
    double epochs = side == first ? NAN : payoff->epochs;
    json_t *object = json_object();
    rue_json_put(document, object, "model", rue_json_text(side->variant->matrix->models[model]));
    rue_json_put(document, object, "epoch_ns",
                 rue_json_nanoseconds(rue_side_epoch_s(first, side, model) * 1e9));
    rue_json_put(document, object, "break_even_epochs", rue_json_real(epochs));
    rue_json_put(document, object, "break_even_interval", interval_json(document, payoff));
    rue_json_put(document, object, "pays", isnan(epochs) ? json_null() : json_boolean(isfinite(epochs)));
    return object;
}

static json_t *side_json(struct rue_json_document *document, const struct rue_side_by_side *all, size_t index,
                         const struct rue_payoff *payoffs)
{
    const struct rue_side *side = &all->sides[index];
    const struct rue_variant *variant = &side->variant->variant;
    json_t *object = json_object(), *models = json_array();
    rue_json_put(document, object, "name", rue_json_text(side->name));
    rue_json_put(document, object, "mode", json_string(rue_mode_names[variant->mode]));
    rue_json_put(document, object, "format", rue_json_text(variant->format));
    rue_json_put(document, object, "dtype", rue_json_text_or_null(variant->dtype));
    rue_json_put(document, object, "path", rue_json_text_or_null(variant->path));
    rue_json_put(document, object, "data_images", rue_json_integer(side->variant->data.images));
    rue_json_put(document, object, "cache", json_string(side->cache));
    rue_json_put(document, object, "batch_dtype",
                 json_string(rue_dtype_names[side->variant->job.batch_dtype]));
    rue_json_put(document, object, "storage_bytes", rue_json_nanoseconds(side->storage_bytes));
    rue_json_put(document, object, "config",
                 rue_json_config_of(document, side->variant, side->variant->selection->recommended, true));
    rue_json_put(document, object, "at_its_best", loading_json(document, &side->own));
    rue_json_put(document, object, "at_the_common", loading_json(document, &side->common));
    rue_json_put(document, object, "common_mean_regret_ratio", rue_json_real(side->common_regret_ratio));
    rue_json_put(document, object, "build_ns", rue_json_nanoseconds(side->build_s * 1e9));
    for (size_t m = 0; m < side->variant->matrix->model_count; m++)
        rue_json_push(document, models, payoff_json(document, &all->sides[0], side, m, &payoffs[m]));
    rue_json_put(document, object, "models", models);
    return object;
}

rue_status rue_side_by_side_json(const struct rue_side_by_side *all, FILE *stream, rue_error *error)
{
    struct rue_payoff *payoffs = NULL;
    size_t models = all->sides[0].variant->matrix->model_count;
    rue_status status = find_payoffs(all, &payoffs, error);
    if (status != RUE_OK) return status;
    struct rue_json_document document = {0};
    json_t *root = json_object(), *sides = json_array();
    rue_json_put(&document, root, "format", json_string("rue.compare/1"));
    rue_json_put(&document, root, "job_images", rue_json_integer(all->sides[0].variant->job.images));
    rue_json_put(&document, root, "sample_images", rue_json_integer(all->sample_images));
    rue_json_put(&document, root, "common_config",
                 all->has_common ? rue_json_config(&document, &all->common, true) : json_null());
    rue_json_put(&document, root, "common_source",
                 all->has_common ? json_string(all->common_predicted ? "predicted" : "measured")
                                 : json_null());
    for (size_t s = 0; s < all->side_count; s++)
        rue_json_push(&document, sides, side_json(&document, all, s, payoffs + s * models));
    rue_json_put(&document, root, "variants", sides);
    rue_json_put(&document, root, "partial", json_boolean(all->findings->run.partial));
    status = rue_json_write(&document, root, stream, error);
    json_decref(root);
    free(payoffs);
    return status;
}
