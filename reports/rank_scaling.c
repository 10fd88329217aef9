#include "rank_scaling.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "prose.h"
#include "units.h"
#include "verdict.h"

static const double knee_efficiency = 0.8, clear_difference = 0.1;

static const struct rue_cell *point_cell(const struct rue_findings *findings, size_t variant, size_t model)
{
    return rue_cost_matrix_cell(findings->variants[variant].matrix, model, 0);
}

static void insert_point(struct rue_rank_curve *curve, const struct rue_findings *findings, size_t variant,
                         size_t model)
{
    const struct rue_job_findings *job = &findings->variants[variant].job;
    const struct rue_cell *cell = point_cell(findings, variant, model);
    struct rue_rank_point point = {.variant = variant, .ranks = (double)job->deployment.ranks, .rate = NAN};
    size_t at = curve->count;
    if (at == RUE_RANK_POINTS_MAX) return;
    if (cell->state == RUE_CELL_OK) point.rate = point.ranks * (double)job->images / cell->median_ns * 1e9;
    for (; at && curve->at[at - 1].ranks > point.ranks; at--) curve->at[at] = curve->at[at - 1];
    curve->at[at] = point;
    curve->count++;
}

struct rue_rank_curve rue_rank_curve(const struct rue_findings *findings, size_t variant, size_t model,
                                     bool weak)
{
    struct rue_rank_curve curve = {.name = weak ? "weak" : "strong"};
    const struct rue_variant_findings *one = &findings->variants[variant];
    bool steep = true;
    if (one->job.deployment.ranks != 1) return curve;
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_variant_findings *other = &findings->variants[v];
        bool same_job = other->job.images == one->job.images;
        if (rue_variant_equal(&other->variant, &one->variant) && (v == variant || same_job == weak))
            insert_point(&curve, findings, v, model);
    }
    for (size_t i = 0; i < curve.count; i++) {
        struct rue_rank_point *point = &curve.at[i];
        point->efficiency = point->rate / (point->ranks * curve.at[0].rate);
        steep &= !(point->efficiency < knee_efficiency);
        if (steep && !isnan(point->efficiency)) curve.knee = i;
    }
    return curve;
}

const struct rue_rank_point *rue_rank_curve_find(const struct rue_rank_curve *curve, size_t variant)
{
    for (size_t i = 0; i < curve->count; i++)
        if (curve->at[i].variant == variant) return &curve->at[i];
    return NULL;
}

static void say_title(struct rue_page *page, const struct rue_variant_findings *one, size_t model)
{
    char name[128];
    bool alone = strcmp(one->matrix->models[model], "none") == 0;
    rue_variant_describe(&one->variant, name, sizeof name);
    rue_say(page, "%s %s, read %s, %s%s, ", name, rue_findings_last_part(one->variant.path),
            one->job.workload.cache, alone ? "loader alone" : "model ",
            alone ? "" : one->matrix->models[model]);
    rue_say_config(page, &one->matrix->configs[0]);
    rue_say(page, " on each rank");
}

static void put_point(struct rue_page *page, const char *curve, const struct rue_rank_point *point,
                      double images, const char *status, bool chosen)
{
    const struct rue_table_column row[] = {
        {"scaling", "scaling", .text = curve},
        {"ranks", "ranks", RUE_UNIT_COUNT, .number = point->ranks},
        {"images", "images of each", RUE_UNIT_COUNT, .number = images, .drop = 2},
        {"images_per_s", "images/s", RUE_UNIT_COUNT, .number = point->rate},
        {"efficiency", "efficiency", RUE_UNIT_PERCENT, .number = point->efficiency},
        {"status", "status", .text = status, .shrink_to = 20, .drop = 1},
    };
    rue_page_row(page, chosen, row, sizeof row / sizeof *row);
}

static void put_curve(struct rue_page *page, const struct rue_findings *findings, size_t model,
                      const struct rue_rank_curve *curve)
{
    for (size_t i = 0; i < curve->count; i++) {
        size_t variant = curve->at[i].variant;
        const struct rue_cell *cell = point_cell(findings, variant, model);
        put_point(page, curve->name, &curve->at[i], (double)findings->variants[variant].job.images,
                  cell->state == RUE_CELL_OK        ? ""
                  : cell->state == RUE_CELL_MISSING ? "not measured"
                                                    : cell->reason,
                  i == curve->knee);
    }
}

static void put_ideal(struct rue_page *page, const struct rue_rank_curve *curve)
{
    for (size_t i = 0; i < curve->count; i++) {
        const struct rue_rank_point ideal = {
            .ranks = curve->at[i].ranks, .rate = curve->at[i].ranks * curve->at[0].rate, .efficiency = 1};
        put_point(page, "ideal", &ideal, NAN, "", false);
    }
}

static void put_table(struct rue_page *page, const struct rue_findings *findings, size_t model,
                      const struct rue_rank_curve *curves, bool chart)
{
    char name[32];
    snprintf(name, sizeof name, "ranks-%zu-%zu", curves->at[0].variant + 1, model + 1);
    rue_page_table(page);
    for (int weak = 0; weak <= 1; weak++) put_curve(page, findings, model, &curves[weak]);
    if (!chart) return;
    put_ideal(page, &curves[0]);
    rue_page_chart(page, &(struct rue_chart){.kind = RUE_CHART_LINES,
                                             .name = name,
                                             .title = "Images per second of all ranks",
                                             .note = "circle: the knee",
                                             .x = "ranks",
                                             .value = "images_per_s",
                                             .series = "scaling",
                                             .log_x = true,
                                             .log_y = true});
}

/* Why the ranks of `point` are less efficient. */
static const char *explain_fall(const struct rue_findings *findings, const struct rue_rank_curve *weak,
                                const struct rue_rank_point *point)
{
    double slower_ratio = findings->variants[point->variant].slow_rank.slower_ratio;
    if (slower_ratio > 0 && point->efficiency * slower_ratio >= knee_efficiency)
        return "one of them is slower than the others";
    for (size_t i = 0; i < weak->count; i++)
        if (weak->at[i].ranks == point->ranks && weak->at[i].efficiency >= knee_efficiency &&
            weak->at[i].efficiency >= point->efficiency + clear_difference)
            return "the part of each rank is too short for its workers, because weak scaling shows no such "
                   "fall";
    return "they wait for something that they share, such as storage, network or CPUs";
}

/* Names the knee, and what comes after it. `curves`: strong and weak. */
static void say_knee(struct rue_page *page, const struct rue_findings *findings,
                     const struct rue_rank_curve *curves, bool weak)
{
    const struct rue_rank_curve *curve = &curves[weak];
    const struct rue_rank_point *knee = &curve->at[curve->knee], *next = NULL;
    char count[RUE_UNIT_TEXT_BYTES];
    for (size_t i = curve->count; i-- > curve->knee + 1;)
        if (!isnan(curve->at[i].rate)) next = &curve->at[i];
    if (isnan(knee->rate) || (!next && curve->knee == 0)) return;
    rue_format_count(findings->variants[curve->at[0].variant].job.images, count, sizeof count);
    rue_say(page, "%s scaling (%s images %s): ", weak ? "Weak" : "Strong", count,
            weak ? "on each rank" : "shared by all ranks");
    if (curve->knee)
        rue_say(page,
                "up to %.0f ranks the rate grows with the number of ranks (efficiency %.0f" RUE_NO_BREAK
                "%%)",
                knee->ranks, 100 * knee->efficiency);
    if (next)
        rue_say(page, "%s%.0f ranks give %s times the rate of %.0f (efficiency %.0f" RUE_NO_BREAK "%%): %s",
                curve->knee ? "; " : "", next->ranks,
                rue_format_times(next->rate / knee->rate, count, sizeof count), knee->ranks,
                100 * next->efficiency, explain_fall(findings, &curves[1], next));
    rue_say(page, "%s.", next ? "" : ", and more were not measured");
}

/* The rank that is slow with the most ranks. */
static void say_slow(struct rue_page *page, const struct rue_findings *findings,
                     const struct rue_variant *data)
{
    const struct rue_variant_findings *most = NULL;
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        bool slow = rue_variant_equal(&variant->variant, data) && variant->slow_rank.slower_ratio > 0;
        if (slow && (!most || variant->job.deployment.ranks >= most->job.deployment.ranks)) most = variant;
    }
    if (!most) return;
    rue_say(page, "With %" PRIu64 " ranks: ", most->job.deployment.ranks);
    rue_verdict_slow_rank(page, most);
}

static void put_model(struct rue_page *page, const struct rue_findings *findings, size_t model,
                      const struct rue_rank_curve *curves, bool chart)
{
    const struct rue_variant_findings *one = &findings->variants[curves[0].at[0].variant];
    if (chart)
        rue_page_heading(page, 1);
    else
        rue_page_sentence(page, RUE_LOOK_BOLD, 0);
    say_title(page, one, model);
    for (int weak = 0; weak <= 1; weak++) {
        rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
        say_knee(page, findings, curves, weak);
    }
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    say_slow(page, findings, &one->variant);
    put_table(page, findings, model, curves, chart);
    rue_page_gap(page);
}

void rue_rank_scaling_put(struct rue_page *page, const struct rue_findings *findings, bool chart)
{
    for (size_t v = 0; v < findings->variant_count; v++)
        for (size_t m = 0; m < findings->variants[v].matrix->model_count; m++) {
            const struct rue_rank_curve curves[] = {rue_rank_curve(findings, v, m, false),
                                                    rue_rank_curve(findings, v, m, true)};
            if (curves[0].count) put_model(page, findings, m, curves, chart);
        }
}
