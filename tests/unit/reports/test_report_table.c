#include "findings_fixture.h"
#include "shared_data.h"
#include "utf8.h"

static const struct rue_report_style wide_plain = {.columns = 0};

static void expect_text(const char *text, const char *part)
{
    cr_assert(strstr(text, part), "no \"%s\" in:\n%s", part, text);
}

/* No line wider than asked, none with spaces at its end, and no control characters. */
static void expect_fits(const char *text, int columns)
{
    char line[4096];
    while (*text) {
        size_t length = strcspn(text, "\n");
        cr_assert_lt(length, sizeof line);
        memcpy(line, text, length);
        line[length] = 0;
        cr_assert_leq(rue_utf8_width(line), columns, "%d columns asked for: %s", columns, line);
        cr_assert(length == 0 || line[length - 1] != ' ', "spaces at the end of: %s|", line);
        for (size_t i = 0; i < length; i++)
            cr_assert((unsigned char)line[i] >= ' ', "a control character: %s", line);
        text += length + (text[length] == '\n');
    }
}

/* The column that the line holding `part` ends its first `part` at. */
static int end_column(const char *text, const char *part)
{
    const char *at = strstr(text, part), *line = at;
    cr_assert_not_null(at, "no \"%s\" in:\n%s", part, text);
    while (line > text && line[-1] != '\n') line--;
    char head[4096];
    size_t length = (size_t)(at - line) + strlen(part);
    memcpy(head, line, length);
    head[length] = 0;
    return rue_utf8_width(head);
}

typedef void open_fixture(struct fixture *fixture);
static open_fixture *const openers[] = {fixture_open, fixture_open_plain, fixture_open_gaps,
                                        fixture_open_nothing, fixture_open_odd};

/* All four knobs vary, with workers as words, too. */
static void open_many_knobs(struct fixture *fixture)
{
    struct rue_config configs[12];
    double times_s[36];
    for (int c = 0; c < 12; c++) {
        configs[c] = fixture_config(c < 6 ? 65536 : 32, c % 6);
        configs[c].value[RUE_PREFETCH_FACTOR] = 2 + c % 2;
        configs[c].value[RUE_PARALLELISM] = c % 2;
        for (int m = 0; m < 3; m++) times_s[m * 12 + c] = 10 + (c * 7 + m * 3) % 11;
    }
    struct fixture_grid grid = {RUE_RAW, configs, 12, fixture_models, 3, times_s, true, ""};
    fixture_open(fixture);
    fixture_add(fixture, &grid);
    grid.mode = RUE_PREPROCESSED;
    struct rue_variant_findings *variant = fixture_add(fixture, &grid);
    memset(variant->variant.path, 'p', 3000);
}

Test(report_table, is_never_wider_than_requested)
{
    static const int widths[] = {20, 40, 41, 50, 60, 72, 80, 100, 160};
    for (size_t f = 0; f <= sizeof openers / sizeof *openers; f++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
            for (int unicode = 0; unicode < 2; unicode++) {
                struct fixture fixture;
                (f < sizeof openers / sizeof *openers ? openers[f] : open_many_knobs)(&fixture);
                struct rue_report_style style = {.unicode = unicode, .columns = widths[w]};
                char *text = fixture_render(&rue_report_table, &fixture, style);
                expect_fits(text, widths[w] < 40 ? 40 : widths[w]);
                for (const char *at = text; *at && !unicode; at++)
                    cr_assert((signed char)*at > 0, "not ASCII: %s", at);
                free(text);
                fixture_close(&fixture);
            }
}

Test(report_table, no_line_begins_with_the_unit_of_the_line_before)
{
    static const char *const units[] = {"MB ", "MB.", "GB ", "GB.", "kB ", "kB.", "s,", "s.", "ms,", "ms."};
    struct fixture fixture;
    fixture_open_plain(&fixture);
    for (int columns = 40; columns <= 120; columns++) {
        char *text = fixture_render(&rue_report_table, &fixture,
                                    (struct rue_report_style){.unicode = true, .columns = columns});
        cr_assert(strstr(text, "B on") || strstr(text, "B\n"), "it tells of bytes: %s", text);
        for (char *line = text; line; line = strchr(line, '\n')) {
            line += strspn(line, "\n ");
            for (size_t u = 0; u < sizeof units / sizeof *units; u++)
                cr_assert(strncmp(line, units[u], strlen(units[u])) != 0, "%d columns: %s", columns, text);
        }
        free(text);
    }
    fixture_close(&fixture);
}

Test(report_table, columns_end_together)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    for (int unicode = 0; unicode < 2; unicode++) {
        char *text = fixture_render(&rue_report_table, &fixture,
                                    (struct rue_report_style){.unicode = unicode, .columns = 100});
        cr_assert_eq(end_column(text, "  mean regret"), end_column(text, "128        8        0.0 %"), "%s",
                     text);
        cr_assert_eq(end_column(text, "batch size"),
                     end_column(text, unicode ? "→        128" : ">        128"), "%s", text);
        cr_assert_eq(end_column(text, "before  after"), end_column(text, "20 s   18 s"), "%s", text);
        free(text);
    }
    fixture_close(&fixture);
}

Test(report_table, says_which_configuration_to_use_and_whose_model_times)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    char *text = fixture_render(&rue_report_table, &fixture, wide_plain);
    expect_text(text, "raw folder: 3 models, job of 9,469 images, 4 configurations\n");
    expect_text(text,
                "Use batch_size 128, num_workers 8 for raw folder data: 0.0 % mean regret over 3 models.\n");
    expect_text(text, "\nModel times are those of an NVIDIA RTX A5000.");
    expect_text(
        text, "Preprocessed data make the job 1.38 times as fast (geometric mean over 3 models; from 1.11 to "
              "1.57). Converting all 9,469 images takes about 19.9 s and pays back on average after 6 epochs "
              "of training. "
              "Preprocessed data "
              "need 5.7 GB of storage, raw data 1.1 GB.");
    cr_assert_null(strstr(text, "onfidence"), "one repeat says nothing about noise");
    expect_text(text, "One repeat, so the uncertainty is unknown (--repeats 3 shows it).");
    cr_assert_null(strchr(text, '\033'), "colour without being asked");
    free(text);
    fixture_close(&fixture);
}

Test(report_table, a_conversion_below_one_epoch_s_saving_pays_back_within_the_first_epoch)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    for (int v = 0; v < 2; v++) fixture.variants[v].data.build_s_per_image /= 100;
    char *text = fixture_render(&rue_report_table, &fixture, wide_plain);
    expect_text(text, "takes about 199 ms and pays back on average within the first epoch of training.");
    free(text);
    fixture_close(&fixture);
}

Test(report_table, has_the_interval_of_the_payback)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    fixture_repeat(&fixture, 0.02);
    char *text = fixture_render(&rue_report_table, &fixture, wide_plain);
    expect_text(
        text,
        "takes about 19.9 s and pays back on average after 6.0 epochs of training (95 % CI 5.5 to 6.6).");
    free(text);
    fixture_repeat(&fixture, 0.6);
    text = fixture_render(&rue_report_table, &fixture, wide_plain);
    expect_text(text, " to never).");
    free(text);
    fixture_close(&fixture);
}

Test(report_table, reports_failed_repeats_of_the_recommendation)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    size_t best = fixture.selections[0]->recommended;
    rue_cost_matrix_add_failure(fixture.matrices[0], 0, best, RUE_TRIAL_FAILED, "it crashed");
    rue_cost_matrix_add_failure(fixture.matrices[0], 1, best, RUE_TRIAL_TIMEOUT, "too slow");
    rue_cost_matrix_add_failure(fixture.matrices[0], 1, best, RUE_TRIAL_TIMEOUT, "too slow");
    char *text = fixture_render(&rue_report_table, &fixture, wide_plain);
    expect_text(text, ": 1 of 2 repeats gave no time: it crashed (resnet152).");
    free(text);
    fixture_close(&fixture);
}

Test(report_table, explains_why_the_votes_disagree)
{
    /* 32/2 is the fastest of two models by a hair, and far behind on the third. */
    static const double times_s[] = {10, 10.1, 20, 21, 10, 10.1, 20, 21, 30, 10, 20, 21, 9, 10, 11, 10};
    static const char *const models[] = {"a", "b", "c", "d"};
    const struct rue_config configs[] = {fixture_config(32, 2), fixture_config(32, 4), fixture_config(128, 0),
                                         fixture_config(128, 8)};
    struct fixture_grid grid = {RUE_RAW, configs, 4, models, 4, times_s, false, ""};
    struct fixture fixture;
    fixture_open(&fixture);
    struct rue_variant_findings *variant = fixture_add(&fixture, &grid);
    rue_selection_close(fixture.selections[0]);
    struct rue_selection_rules rules = {.top_n = 1};
    cr_assert_eq(rue_selection_open(fixture.matrices[0], &rules, &fixture.selections[0], NULL), RUE_OK);
    variant->selection = fixture.selections[0];
    char *text = fixture_render(&rue_report_table, &fixture, wide_plain);
    expect_text(text, "batch_size 32, num_workers 2 has more votes (3 in place of 1 of 4 models), but its "
                      "mean regret is ");
    free(text);
    fixture_close(&fixture);
}

Test(report_table, names_unranked_configurations_and_labels_predictions)
{
    struct fixture fixture;
    fixture_open_gaps(&fixture);
    char *text = fixture_render(&rue_report_table, &fixture, (struct rue_report_style){0});
    expect_text(text,
                "Not ranked: 3 of 4 configurations, which did not run on every model; 32/4 is infeasible for "
                "resnet152 (slabs of 9.2 GB, 8 GB allowed); 128/8 failed for resnet18 (slabs of 9.2 GB, 8 GB "
                "allowed); 1 not measured on every model.");
    expect_text(text, "short runs");
    expect_text(text, ", estimated from runs shorter than the job.");
    free(text);
    fixture_close(&fixture);
}

Test(report_table, marks_rows_from_short_trials_and_predictions)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    struct rue_selection *selection = fixture.selections[0];
    struct rue_ranking_row *best = &selection->rows[selection->ranked[0]],
                           *last = &selection->rows[selection->ranked[1]];
    best->predicted = last->predicted = true;
    last->repeats = 0;
    for (int brief = 0; brief < 2; brief++) {
        char *text = fixture_render(&rue_report_table, &fixture, (struct rue_report_style){.brief = brief});
        expect_text(text, "short runs");
        expect_text(text, "prediction");
        free(text);
    }
    last->predicted = false;
    char *text = fixture_render(&rue_report_table, &fixture, (struct rue_report_style){0});
    expect_text(text, "short runs");
    cr_assert_null(strstr(text, "prediction"), "%s", text);
    free(text);
    fixture_close(&fixture);
}

Test(report_table, an_empty_ranking_is_explained)
{
    struct fixture fixture;
    fixture_open_nothing(&fixture);
    char *text = fixture_render(&rue_report_table, &fixture, wide_plain);
    expect_text(text, "No configuration could be recommended for raw folder data:");
    expect_text(text, "reason of 3 cells: out of \"memory\".");
    cr_assert_null(strstr(text, "Use batch_size"));
    free(text);
    fixture_close(&fixture);
}

Test(report_table, begins_with_why_a_run_is_partial)
{
    struct fixture fixture;
    fixture_open_odd(&fixture);
    char *text = fixture_render(&rue_report_table, &fixture, wide_plain);
    const char mark[] = "Partial results: interrupted after 4 of 20 trials.\n";
    cr_assert_eq(strncmp(text, mark, strlen(mark)), 0, "%s", text);
    cr_assert_null(strstr(text, "workers are threads"), "PyTorch measured");
    free(text);
    fixture_close(&fixture);
}

Test(report_table, colour_is_balanced)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    char *text = fixture_render(&rue_report_table, &fixture,
                                (struct rue_report_style){.color = true, .unicode = true, .columns = 80});
    bool on = false;
    for (const char *at = text; *at; at++) {
        if (*at != '\033') continue;
        bool reset = strncmp(at, "\033[0m", 4) == 0;
        cr_assert_neq(reset, !on, "%.20s", at);
        on = !reset;
    }
    cr_assert_not(on);
    expect_text(text, "\033[1m→");
    free(text);
    fixture_close(&fixture);
}

/* The published measurements. */
enum { PUBLISHED_MODELS = 12, PUBLISHED_CONFIGS = 45 };

struct published {
    char names[PUBLISHED_MODELS][96];
    size_t model_count, config_count;
    struct rue_config configs[PUBLISHED_CONFIGS];
    double times_s[2][PUBLISHED_MODELS * PUBLISHED_CONFIGS];
};

static void read_published(FILE *file, struct published *out)
{
    char line[256], mode[32], model[96];
    int batch_size, num_workers;
    double time_s;
    static const int batches[] = {32, 128, 256, 512, 1024}, workers[] = {1, 2, 4, 8, 12, 16, 32, 48, 64};
    for (int b = 0; b < 5; b++)
        for (int w = 0; w < 9; w++)
            out->configs[out->config_count++] = fixture_config(batches[b], workers[w]);
    cr_assert_not_null(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file)) {
        int found =
            sscanf(line, "%31[^,],%95[^,],%d,%d,%lf", mode, model, &batch_size, &num_workers, &time_s);
        cr_assert_eq(found, 5, "%s", line);
        size_t m = 0, c = 0;
        while (m < out->model_count && strcmp(out->names[m], model)) m++;
        if (m == out->model_count) {
            cr_assert_lt(m, (size_t)PUBLISHED_MODELS);
            strcpy(out->names[out->model_count++], model);
        }
        struct rue_config config = fixture_config(batch_size, num_workers);
        while (c < PUBLISHED_CONFIGS && !rue_config_equal(&out->configs[c], &config)) c++;
        cr_assert_lt(c, (size_t)PUBLISHED_CONFIGS, "%s", line);
        out->times_s[strcmp(mode, "imagenette") != 0][m * PUBLISHED_CONFIGS + c] = time_s;
    }
}

/* Two modes fit on a screen. */
static void expect_few_lines(const char *text)
{
    size_t lines = 0;
    for (const char *at = text; *at; at++) lines += *at == '\n';
    cr_assert(lines <= 31, "%zu lines:\n%s", lines, text);
}

Test(report_table, reproduces_the_published_measurements)
{
    static struct published published;
    FILE *file = shared_open("data/end_to_end_grid.csv");
    read_published(file, &published);
    fclose(file);
    const char *models[PUBLISHED_MODELS];
    for (size_t m = 0; m < PUBLISHED_MODELS; m++) models[m] = published.names[m];
    struct fixture_grid grid = {
        RUE_RAW, published.configs, PUBLISHED_CONFIGS, models, 12, published.times_s[0], false, ""};
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_add(&fixture, &grid);
    grid.mode = RUE_PREPROCESSED;
    grid.times_s = published.times_s[1];
    fixture_add(&fixture, &grid)->data.build_s_per_image = 0.0021;
    for (int v = 0; v < 2; v++) fixture.variants[v].job.images = fixture.variants[v].data.images = 9216;
    for (int columns = 60; columns <= 160; columns += 20) {
        char *text = fixture_render(&rue_report_table, &fixture,
                                    (struct rue_report_style){.unicode = true, .columns = columns});
        expect_fits(text, columns);
        free(text);
    }
    char *brief =
        fixture_render(&rue_report_table, &fixture, (struct rue_report_style){.columns = 100, .brief = true});
    expect_few_lines(brief);
    free(brief);
    char *text = fixture_render(&rue_report_table, &fixture, (struct rue_report_style){0});
    expect_text(text,
                "Use batch_size 128, num_workers 12 for raw folder data: 2.0 % mean regret over 12 models");
    expect_text(text,
                "Use batch_size 256, num_workers 2 for preprocessed tensor float32 data: 0.4 % mean regret");
    expect_text(text, "batch_size 128, num_workers 8 has more votes (6 in place of 5 of 12 models), but its "
                      "mean regret is 6.4 % in place of 2.0 %.");
    const char *print = getenv("RUE_TEST_SHOW");
    if (print) {
        char *shown = fixture_render(&rue_report_table, &fixture,
                                     (struct rue_report_style){.unicode = true, .columns = atoi(print)});
        fputs(shown, stderr);
        free(shown);
    }
    free(text);
    fixture_close(&fixture);
}

Test(report_table, the_brief_form_is_short)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    char *text = fixture_render(&rue_report_table, &fixture,
                                (struct rue_report_style){.unicode = true, .columns = 100, .brief = true});
    expect_few_lines(text);
    expect_text(text, "rue show rue-out/photos --details");
    expect_text(text, "\n  from rue_tuner import Loader ");
    expect_text(text, "\n  loader = Loader.from_recommendation(\"rue-out/photos\", mode=\"raw\")\n");
    cr_assert(!strstr(text, "The best workers for each batch size"), "%s", text);
    free(text);
    fixture_close(&fixture);
}

Test(report_table, names_the_cause_of_a_busy_machine)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    strcpy(fixture.findings.changes.busy_before, "other processes used 1.3 CPUs");
    strcpy(fixture.findings.changes.busy_after, "other processes used 0.9 CPUs");
    char *text = fixture_render(&rue_report_table, &fixture, (struct rue_report_style){.columns = 100});
    expect_text(text, "busy: before the first trial, other processes used 1.3 CPUs;");
    free(text);
    fixture_close(&fixture);
}

Test(report_table, an_answer_with_a_wide_bound_is_not_decided)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    fixture.variants[0].claim = (struct rue_claim_findings){.bound_ratio = 2.458, .confidence = 0.95};
    fixture.variants[1].claim = (struct rue_claim_findings){.bound_ratio = 0.4, .confidence = 0.95};
    char *text = fixture_render(&rue_report_table, &fixture, wide_plain);
    expect_text(text, "Not decided. Best so far: batch_size 128, num_workers 8 for raw folder data: 0.0 %");
    expect_text(text, "\nUse batch_size ");
    free(text);
    fixture_close(&fixture);
}

Test(report_table, what_is_not_decided_says_why)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    struct rue_variant_findings *first = &fixture.variants[0];
    char why[RUE_WHY_NOT_BYTES];
    cr_expect_str_empty(rue_findings_why_not(&fixture.findings, first, why));
    first->interval = (struct rue_regret_interval){.confidence = 0.95, .mean_low = 0.3, .mean_high = 0.9};
    cr_expect_str_eq(rue_findings_why_not(&fixture.findings, first, why),
                     "its regret is between 30.0 % and 90.0 %, at 95 % confidence");
    first->claim = (struct rue_claim_findings){.bound_ratio = 2.458, .confidence = 0.9};
    cr_expect_str_eq(rue_findings_why_not(&fixture.findings, first, why),
                     "another configuration may be 245.8 points better, at 90 % confidence");
    fixture.findings.changes.contention =
        (struct rue_contention_findings){.affected_ratio = 0.7, .has_clean_pair = true};
    cr_expect_str_eq(rue_findings_why_not(&fixture.findings, first, why),
                     "other programs or changes of speed affected 70 % of the time");
    cr_expect_not(rue_findings_is_decided(&fixture.findings, first));
    char *text = fixture_render(&rue_report_table, &fixture, wide_plain);
    expect_text(text, "\nBest so far: batch_size 128, num_workers 8");
    free(text);
    strcpy(fixture.findings.runner.measured_with, "torch");
    text = fixture_render(&rue_report_json, &fixture, wide_plain);
    expect_text(text, "\"why_not\": \"other programs or changes of speed affected 70 % of the time\"");
    expect_text(text, "\"torch_best_guess\": {");
    expect_text(text, "\"decided\": false");
    cr_expect_null(strstr(text, "\"torch\": {"));
    free(text);
    fixture_close(&fixture);
}

Test(report_table, times_of_models_that_overslept_are_not_reliable)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    fixture.variants[0].trials.meant_ns = 100;
    fixture.variants[0].trials.late_ns = 48.9;
    char *text = fixture_render(&rue_report_table, &fixture, wide_plain);
    expect_text(text, "slept 48.9 % too long, as no CPU was free to wake them. The times are not reliable");
    free(text);
    fixture_close(&fixture);
}

Test(report_table, the_only_configuration_has_no_regret)
{
    struct fixture fixture;
    const struct rue_config config = fixture_config(32, 2);
    const double times_s[] = {1, 2};
    const struct fixture_grid grid = {RUE_RAW, &config, 1, fixture_models, 2, times_s, false, ""};
    fixture_open(&fixture);
    fixture_add(&fixture, &grid);
    char *text = fixture_render(&rue_report_table, &fixture, wide_plain);
    expect_text(text, "num_workers 2 for raw folder data: the only configuration, so nothing was compared.");
    free(text);
    fixture_close(&fixture);
}

static size_t count_parts(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text++) count++;
    return count;
}

Test(report_table, shows_the_recommendation_at_any_rank)
{
    struct fixture fixture;
    open_many_knobs(&fixture);
    for (size_t v = 0; v < 2; v++) {
        struct rue_selection *selection = fixture.selections[v];
        selection->recommended = selection->ranked[10];
        selection->top_n_winner = selection->ranked[v ? 11 : 10];
    }
    for (int brief = 0; brief < 2; brief++) {
        char *text = fixture_render(&rue_report_table, &fixture, (struct rue_report_style){.brief = brief});
        cr_assert_geq(count_parts(text, "\n> "), 2, "%s", text);
        cr_assert_eq(count_parts(text, "and 1 more"), !brief, "%s", text); /* of the second variant, none */
        cr_assert_eq(count_parts(text, " is predicted to be better, but it was not measured on every model."),
                     2, "%s", text);
        free(text);
    }
    fixture_close(&fixture);
}
