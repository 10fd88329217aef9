#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "chart.h"
#include "chart_axis.h"
#include "page_writers.h"

/* Text that a browser would take for markup, in every place of a page. */
#define EVIL "<script>alert(1)</script><img src=x onerror=alert(1)>&amp;\"'`|*_[x](y)\n\x01\xff"

static rue_error error;

/* ---- pages ---- */

/* Two panels; a winner, a prediction, a cell that does not fit, and one that is missing. */
static void open_heat(struct rue_page *page)
{
    static const char *const states[] = {"", "predicted", "infeasible", "", "", "predicted", "failed", ""};
    rue_page_table(page);
    for (int i = 0; i < 8; i++) {
        bool failed = states[i][0] == 'i' || states[i][0] == 'f', predicted = states[i][0] == 'p';
        const struct rue_table_column row[] = {
            {"prefetch_factor", "prefetch factor", .text = i < 4 ? "2" : "8"},
            {"batch_size", "batch size", RUE_UNIT_COUNT, .number = i % 2 ? 128 : 32},
            {"num_workers", "workers", RUE_UNIT_COUNT, .number = i / 2 % 2 * 4},
            {"regret", "mean regret", RUE_UNIT_PERCENT, .number = failed ? NAN : (i - 3) * (i - 3) * 0.11},
            {"basis", "based on", .text = states[i]},
        };
        rue_page_row(page, i == 3, row, sizeof row / sizeof *row);
        rue_page_mark(page, failed ? RUE_ROW_FAILED : predicted ? RUE_ROW_PREDICTED : RUE_ROW_PLAIN);
    }
    rue_page_chart(page, &(struct rue_chart){.kind = RUE_CHART_HEAT,
                                             .name = "heat",
                                             .title = "Mean regret (%)",
                                             .x = "batch_size",
                                             .y = "num_workers",
                                             .value = "regret",
                                             .caption = "basis",
                                             .panel = "prefetch_factor"});
}

/* Three lines: one with intervals and a prediction, one with a gap and a point alone, one of two points. */
static void open_lines(struct rue_page *page)
{
    static const char *const names[] = {"resnet18", "resnet50", "vit"};
    rue_page_table(page);
    for (int m = 0; m < 3; m++)
        for (int w = m == 2 ? 3 : 0; w < 5; w++) {
            double workers = w == 4 ? 12
                             : w    ? 1 << (w - 1)
                                    : 0,
                   time = m == 1 && w == 3 ? NAN : 8e9 / (workers + 1) + m * 1e9;
            bool predicted = m == 0 && w == 1;
            const struct rue_table_column row[] = {
                {"model", "model", .text = names[m]},
                {"num_workers", "workers", RUE_UNIT_COUNT, .number = workers},
                {"time_ns", "time", RUE_UNIT_DURATION, .number = time},
                {"low_ns", NULL, RUE_UNIT_DURATION, .number = m ? NAN : time * 0.9},
                {"high_ns", NULL, RUE_UNIT_DURATION, .number = m ? NAN : time * 1.1},
                {"note", "note", .text = predicted ? "predicted" : ""},
            };
            rue_page_row(page, m == 0 && w == 4, row, sizeof row / sizeof *row);
            rue_page_mark(page, predicted ? RUE_ROW_PREDICTED : RUE_ROW_PLAIN);
        }
    rue_page_chart(page, &(struct rue_chart){.kind = RUE_CHART_LINES,
                                             .name = "lines",
                                             .title = "Time over workers",
                                             .x = "num_workers",
                                             .value = "time_ns",
                                             .low = "low_ns",
                                             .high = "high_ns",
                                             .series = "model",
                                             .even_x = true,
                                             .from_zero = true});
}

static void open_points(struct rue_page *page)
{
    rue_page_table(page);
    for (int i = 0; i < 6; i++) {
        const struct rue_table_column row[] = {
            {"memory_bytes", "memory", RUE_UNIT_BYTES, .number = 4e8 / (i + 1)},
            {"regret", "mean regret", RUE_UNIT_PERCENT, .number = 0.02 * i * i},
            {"group", "group", .text = i < 3 ? "front" : "others"},
        };
        rue_page_row(page, i == 0, row, sizeof row / sizeof *row);
        if (i < 3) rue_page_mark(page, RUE_ROW_JOINED);
    }
    rue_page_chart(page, &(struct rue_chart){.kind = RUE_CHART_POINTS,
                                             .name = "points",
                                             .title = "Regret against memory",
                                             .x = "memory_bytes",
                                             .value = "regret",
                                             .series = "group",
                                             .log_x = true});
}

static void open_bars(struct rue_page *page)
{
    rue_page_table(page);
    for (int i = 0; i < 3; i++) {
        const struct rue_table_column row[] = {
            {"model", "model", .text = i < 2 ? "resnet18" : "resnet50"},
            {"config", "configuration", .text = i % 2 ? "32/2" : "128/8"},
            {"first_ns", "first batch", RUE_UNIT_DURATION, .number = 2e8 * (i + 1)},
            {"wait_ns", "waiting", RUE_UNIT_DURATION, .number = i ? 9e8 : 0},
            {"compute_ns", "computing", RUE_UNIT_DURATION, .number = 1.5e9},
            {"other_ns", "other", RUE_UNIT_DURATION, .number = 0},
            {"bottleneck", "bottleneck", .text = i ? "loading 35 %" : "computing"},
        };
        rue_page_row(page, i == 0, row, sizeof row / sizeof *row);
    }
    rue_page_chart(page, &(struct rue_chart){.kind = RUE_CHART_BARS,
                                             .name = "bars",
                                             .title = "Where the time goes",
                                             .x = "config",
                                             .value = "first_ns",
                                             .last = "other_ns",
                                             .panel = "model",
                                             .caption = "bottleneck",
                                             .x_title = "time"});
}

static char *written(rue_status (*write)(const struct rue_page *page, FILE *stream),
                     const struct rue_page *page)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    rue_status status = write(page, stream);
    fclose(stream);
    cr_assert_eq(status, RUE_OK, "%s", error.message);
    return text;
}

static rue_status write_chart(const struct rue_page *page, FILE *stream)
{
    return rue_chart_write_file(&page->sections[0], &page->sections[0].charts[0], stream, &error);
}

static rue_status write_html(const struct rue_page *page, FILE *stream)
{
    return rue_page_write_html(page, EVIL, "{\"x\":\"</script><b>\"}", stream, &error);
}

static rue_status write_markdown(const struct rue_page *page, FILE *stream)
{
    return rue_page_write_markdown(page, "plots", true, stream, &error);
}

static rue_status write_first_screen(const struct rue_page *page, FILE *stream)
{
    return rue_page_write_markdown(page, "plots", false, stream, &error);
}

/* ---- goldens ---- */

static void check_golden(const char *name, void (*open)(struct rue_page *page))
{
    struct rue_page page = {0};
    char path[4096], *expected = NULL;
    size_t bytes = 0;
    open(&page);
    char *svg = written(write_chart, &page);
    snprintf(path, sizeof path, RUE_GOLDENS "/chart_%s.svg", name);
    FILE *file = fopen(path, getenv("RUE_UPDATE_GOLDENS") ? "w" : "r");
    cr_assert_not_null(file, "%s", path);
    if (getenv("RUE_UPDATE_GOLDENS")) fputs(svg, file);
    cr_assert(getenv("RUE_UPDATE_GOLDENS") || getdelim(&expected, &bytes, 0, file) > 0);
    fclose(file);
    cr_assert(!expected || strcmp(svg, expected) == 0,
              "if this is meant to be so: RUE_UPDATE_GOLDENS=1 %s\n%s", name, svg);
    free(expected);
    free(svg);
    rue_page_close(&page);
}

Test(chart, a_heat_map_equals_its_golden)
{
    check_golden("heat", open_heat);
}

Test(chart, lines_equal_their_golden)
{
    check_golden("lines", open_lines);
}

Test(chart, points_equal_their_golden)
{
    check_golden("points", open_points);
}

Test(chart, bars_equal_their_golden)
{
    check_golden("bars", open_bars);
}

/* ---- texts ---- */

static void open_evil(struct rue_page *page)
{
    rue_page_heading(page, 1);
    rue_say(page, "%s", EVIL);
    rue_page_sentence(page, RUE_LOOK_BOLD, 0);
    rue_say(page, "%s", EVIL);
    for (enum rue_chart_kind kind = RUE_CHART_HEAT; kind <= RUE_CHART_BARS; kind++) {
        rue_page_table(page);
        for (int i = 0; i < 3; i++) {
            const struct rue_table_column row[] = {
                {"series", EVIL, .text = EVIL},
                {"x", EVIL, RUE_UNIT_COUNT, .number = i},
                {"y", EVIL, RUE_UNIT_COUNT, .number = i + 1},
                {"panel", EVIL, .text = EVIL},
            };
            rue_page_row(page, false, row, sizeof row / sizeof *row);
        }
        rue_page_chart(page, &(struct rue_chart){.kind = kind,
                                                 .name = "evil",
                                                 .title = EVIL,
                                                 .note = EVIL,
                                                 .x_title = EVIL,
                                                 .x = "x",
                                                 .y = "y",
                                                 .value = "y",
                                                 .last = "y",
                                                 .series = "series",
                                                 .panel = "panel",
                                                 .caption = "series"});
    }
}

Test(chart, text_is_never_markup)
{
    struct rue_page page = {0};
    open_evil(&page);
    char *html = written(write_html, &page), *markdown = written(write_markdown, &page);
    cr_assert_null(strstr(html, "<img"));
    cr_assert_null(strstr(html, "alert(1)</script"));
    cr_assert_null(strstr(html, "&amp;\"'"));
    cr_assert_null(strchr(html, 1));
    cr_assert_null(strchr(html, '\xff'));
    cr_assert_not_null(strstr(html, "&lt;script&gt;alert(1)&lt;/script&gt;"));
    cr_assert_not_null(strstr(html, "{\"x\":\"\\u003c/script>\\u003cb>\"}"));
    cr_assert_null(strstr(markdown, "<img"));
    cr_assert_null(strstr(markdown, "<script"));
    cr_assert_null(strstr(markdown, "[x](y)"));
    free(html);
    free(markdown);
    rue_page_close(&page);
}

/* Panels a to f; those of `winners` have a winner. */
static char *write_panels(const char *winners)
{
    struct rue_page page = {0};
    rue_page_table(&page);
    for (int i = 0; i < 12; i++) {
        char name[] = {(char)('a' + i / 2), 0};
        const struct rue_table_column row[] = {
            {"model", "model", .text = name},
            {"num_workers", "workers", RUE_UNIT_COUNT, .number = i % 2},
            {"time_ns", "time", RUE_UNIT_DURATION, .number = 1e9},
        };
        rue_page_row(&page, i % 2 && strchr(winners, name[0]), row, sizeof row / sizeof *row);
    }
    rue_page_chart(&page, &(struct rue_chart){.kind = RUE_CHART_LINES,
                                              .name = "panels",
                                              .title = "Panels",
                                              .x = "num_workers",
                                              .value = "time_ns",
                                              .panel = "model"});
    char *html = written(write_html, &page);
    rue_page_close(&page);
    return html;
}

Test(chart, of_many_panels_three_are_open_around_the_winners)
{
    static const struct {
        const char *winners, *folded;
    } cases[] = {{"c", "3 more: a, e, f<"}, {"", "3 more: b, d, e<"},   {"abcdef", "3 more: b, d, e<"},
                 {"a", "3 more: d, e, f<"}, {"bf", "3 more: c, d, e<"}, {"bc", "3 more: d, e, f<"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *html = write_panels(cases[i].winners);
        cr_expect(strstr(html, cases[i].folded), "%s", cases[i].winners);
        cr_expect(strstr(html, "<div class=\"p p3\">"));
        cr_expect(strstr(html, "aria-label=\"Panels: e\""), "folded panels are in the page");
        free(html);
    }
}

Test(chart, lines_need_values_at_two_places)
{
    static const struct {
        double x[2], value[2];
        enum rue_chart_kind kind;
        bool drawn;
    } cases[] = {{{1, 2}, {3, 3}, RUE_CHART_LINES, true},    {{2, 2}, {3, 4}, RUE_CHART_LINES, false},
                 {{1, 2}, {3, NAN}, RUE_CHART_LINES, false}, {{2, 2}, {3, 4}, RUE_CHART_POINTS, true},
                 {{1, 2}, {3, NAN}, RUE_CHART_POINTS, true}, {{1, 2}, {NAN, NAN}, RUE_CHART_POINTS, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rue_page page = {0};
        rue_page_table(&page);
        for (int r = 0; r < 2; r++) {
            const struct rue_table_column row[] = {
                {"x", "x", RUE_UNIT_COUNT, .number = cases[i].x[r]},
                {"value", "value", RUE_UNIT_NUMBER, .number = cases[i].value[r]},
            };
            rue_page_row(&page, false, row, sizeof row / sizeof *row);
        }
        rue_page_chart(&page,
                       &(struct rue_chart){
                           .kind = cases[i].kind, .name = "c", .title = "c", .x = "x", .value = "value"});
        const struct rue_section *table = rue_page_last_table(&page);
        cr_expect_eq(rue_chart_is_drawn(table, &table->charts[0]), cases[i].drawn, "case %zu", i);
        rue_page_close(&page);
    }
}

Test(chart, a_heading_without_content_is_not_shown)
{
    struct rue_page page = {0};
    rue_page_heading(&page, 1);
    rue_say(&page, "Empty");
    rue_page_heading(&page, 2);
    rue_say(&page, "Empty, too");
    rue_page_heading(&page, 1);
    rue_say(&page, "Full");
    rue_page_sentence(&page, RUE_LOOK_PLAIN, 0);
    rue_say(&page, "A sentence.");
    char *html = written(write_html, &page), *markdown = written(write_markdown, &page);
    cr_assert_null(strstr(html, "Empty"));
    cr_assert_not_null(strstr(html, "Full</h2>"));
    cr_assert_not_null(strstr(markdown, "## Full\n\nA sentence.\n"));
    free(html);
    free(markdown);
    rue_page_close(&page);
}

/* An answer, a figure, two lines of code, a link, and a section. */
static void open_poster(struct rue_page *page)
{
    const struct rue_table_column figure[] = {{NULL, "figure", .text = "58 %"},
                                              {NULL, "what", .text = "of the speed"},
                                              {NULL, "remark", .text = "it waits"}};
    page->folds = true;
    rue_page_sentence(page, RUE_LOOK_BOLD, 0);
    rue_say(page, "Use it.");
    rue_page_figures(page);
    rue_page_row(page, false, figure, sizeof figure / sizeof *figure);
    rue_page_sentence(page, RUE_LOOK_CODE, 0);
    rue_say(page, "import a");
    rue_page_sentence(page, RUE_LOOK_CODE, 0);
    rue_say(page, "b = a(\"c_d\")");
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_page_link(page, "More");
    rue_say(page, "One caveat.");
    rue_page_heading(page, 1);
    rue_say(page, "More");
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "All of it.");
}

Test(chart, a_page_that_folds_has_a_poster_and_sections)
{
    struct rue_page page = {0};
    open_poster(&page);
    char *html = written(write_html, &page);
    cr_expect(strstr(html,
                     "<div class=\"g poster\">\n<p class=\"b\">Use it.</p>\n"
                     "<div class=\"t\"><dl><div><dt>of the speed<dd>58 %<dd class=\"d\">it waits</div>\n"
                     "</dl>\n<pre><code>import a\nb = a(&quot;c_d&quot;)\n</code></pre>\n"
                     "<p><a href=\"#part-5\">One caveat.</a></p>\n</div>\n</div>\n"
                     "<details class=\"s\"><summary><h2>More</h2></summary>\n"
                     "<div class=\"g\" id=\"part-5\">\n"
                     "<div class=\"t\"><p>All of it.</p>\n</div>\n</div></details>\n</main>"),
              "%s", strstr(html, "<div class=\"g poster\">"));
    free(html);
    rue_page_close(&page);
}

Test(chart, markdown_has_the_first_screen_alone_or_all)
{
    struct rue_page page = {0};
    open_poster(&page);
    char *first = written(write_first_screen, &page), *all = written(write_markdown, &page);
    cr_expect_str_eq(first, "<!-- rue -->\n\n**Use it.**\n\n| figure | what | remark |\n|---|---|---|\n"
                            "| 58 % | of the speed | it waits |\n\n    import a\n\n    b = a(\"c_d\")\n\n"
                            "One caveat.\n\n");
    cr_expect_eq(strncmp(all, first, strlen(first)), 0);
    cr_expect_str_eq(all + strlen(first), "## More\n\nAll of it.\n\n");
    free(first);
    free(all);
    rue_page_close(&page);
}

/* ---- axes ---- */

static struct rue_axis axis_from(enum rue_unit unit, bool logarithmic, double low, double high)
{
    struct rue_axis axis = {.unit = unit, .logarithmic = logarithmic};
    rue_axis_include(&axis, low);
    rue_axis_include(&axis, NAN);
    rue_axis_include(&axis, high);
    rue_axis_place(&axis, 0, 100);
    return axis;
}

Test(axis, ticks_are_round_and_inside)
{
    const double lows[] = {0, 1e-3, 5, 1e6, 3e9, -0.4}, factors[] = {1, 1.0001, 3, 1e4};
    const enum rue_unit units[] = {RUE_UNIT_NUMBER, RUE_UNIT_COUNT, RUE_UNIT_PERCENT, RUE_UNIT_DURATION,
                                   RUE_UNIT_BYTES};
    for (size_t i = 0; i < 6 * 4 * 5 * 2; i++) {
        double low = lows[i % 6], high = low * factors[i / 6 % 4];
        bool logarithmic = i >= 120;
        struct rue_axis axis = axis_from(units[i / 24 % 5], logarithmic, low, high);
        for (size_t t = 0; t < axis.tick_count; t++) {
            char text[RUE_AXIS_TEXT_BYTES];
            double px = rue_axis_px(&axis, axis.ticks[t]);
            cr_assert(px >= -0.1 && px <= 100.1, "%g in %g..%g: %g px", axis.ticks[t], low, high, px);
            cr_assert_leq(strlen(rue_axis_tick_text(&axis, axis.ticks[t], text)), 12, "%s", text);
        }
        cr_assert(logarithmic || axis.tick_count >= 2, "%g..%g", low, high);
    }
}

Test(axis, zero_workers_have_a_place_on_a_logarithmic_axis)
{
    struct rue_axis axis = axis_from(RUE_UNIT_COUNT, true, 0, 4);
    const double workers[] = {0, 1, 2, 4};
    for (int i = 0; i < 4; i++) cr_assert_float_eq(rue_axis_px(&axis, workers[i]), i * 100.0 / 3, 1e-9);
    cr_assert_eq(axis.tick_count, 4);
}

Test(axis, the_unit_follows_the_largest_value)
{
    cr_assert_str_eq(axis_from(RUE_UNIT_DURATION, false, 0, 3e6).suffix, "ms");
    cr_assert_str_eq(axis_from(RUE_UNIT_DURATION, false, 0, 100e9).suffix, "s");
    cr_assert_str_eq(axis_from(RUE_UNIT_BYTES, false, 0, 3e9).suffix, "GB");
    cr_assert_str_eq(axis_from(RUE_UNIT_COUNT, false, 0, 3).suffix, "");
}
