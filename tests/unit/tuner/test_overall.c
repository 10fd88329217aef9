#include "findings_fill.h"

#include "findings_fixture.h"
#include "ranking_options.h"

enum { RAW, ALSO_RAW, PREPROCESSED };

static const char *const models[] = {"ape", "bee"};
static struct rue_config configs[3];
static struct fixture fixture;

static void add(enum rue_mode mode, const char *path, const double *times_s, size_t config_count)
{
    const struct fixture_grid grid = {.mode = mode,
                                      .configs = configs,
                                      .config_count = config_count,
                                      .models = models,
                                      .model_count = 2,
                                      .times_s = times_s};
    fixture_add(&fixture, &grid);
    struct rue_variant_findings *variant = &fixture.variants[fixture.findings.variant_count - 1];
    snprintf(variant->variant.path, sizeof variant->variant.path, "%s", path);
}

static void begin(void)
{
    fixture_open(&fixture);
    for (int c = 0; c < 3; c++) configs[c] = fixture_config(32, 1 << c);
}

static void end(void)
{
    rue_overall_close(&fixture.findings);
    fixture_close(&fixture);
}

TestSuite(overall, .init = begin, .fini = end, .timeout = 60);

static void find(const char *weights)
{
    struct rue_ranking_rules rules = {.top_n = 3, .confidence = 0.95};
    cr_assert_eq(rue_ranking_rules_read_weights(&rules, weights, "--weights", NULL), RUE_OK);
    cr_assert_eq(rue_overall_find(&fixture.findings, &rules, NULL), RUE_OK);
    rue_ranking_rules_close(&rules);
}

static const double fast_few[] = {1.0, 1.1, 1.5, 2.0, 2.2, 3.0}, fast_many[] = {1.3, 1.1, 1.0, 2.6, 2.2, 2.0},
                    alike[] = {1, 1, 1, 1, 1, 1};

Test(overall, the_least_regret_over_the_models_of_all_variants_wins)
{
    add(RUE_RAW, "a", fast_few, 3);
    add(RUE_RAW, "b", fast_many, 3);
    find(NULL);
    cr_assert_eq(fixture.findings.overall_count, 1, "all are of one mode: one answer");
    const struct rue_overall *overall = &fixture.findings.overall[0];
    const struct rue_ranking_row *row = &overall->selection->rows[overall->selection->recommended];
    cr_assert_str_eq(overall->scope, "raw");
    cr_assert_eq(overall->selection->recommended, 1, "best of neither, and good for both");
    cr_assert_eq(overall->selection->model_count, 4);
    cr_assert_float_eq(row->mean_regret_ratio, 0.1, 1e-9);
    cr_assert_eq(overall->part_count, 2);
    cr_assert_str_eq(overall->parts[0].name, "raw folder a", "the name alone would not tell which");
    cr_assert_float_eq(overall->parts[1].mean_regret_ratio, 0.1, 1e-9);
    cr_assert_float_eq(overall->parts[1].max_regret_ratio, 0.1, 1e-9);
}

Test(overall, each_mode_of_several_variants_and_all_together_have_an_answer)
{
    add(RUE_RAW, "a", fast_few, 3);
    add(RUE_RAW, "b", fast_few, 3);
    add(RUE_PREPROCESSED, "c", fast_many, 3);
    find(NULL);
    cr_assert_eq(fixture.findings.overall_count, 2);
    cr_assert_str_eq(fixture.findings.overall[0].scope, "raw");
    cr_assert_eq(fixture.findings.overall[0].selection->recommended, 0);
    cr_assert_str_eq(fixture.findings.overall[1].scope, "all");
    cr_assert_eq(fixture.findings.overall[1].part_count, 3);
}

Test(overall, only_configurations_that_run_on_all_variants_are_answers)
{
    static const double broken[] = {1.0, FAILED, 1.5, 2.0, 2.2, 3.0};
    add(RUE_RAW, "a", broken, 3);
    add(RUE_RAW, "b", (const double[]){1.3, 1.0, 2.6, 2.0}, 2);
    find(NULL);
    const struct rue_overall *overall = &fixture.findings.overall[0];
    cr_assert_eq(overall->matrix->config_count, 2, "two are common");
    cr_assert_eq(overall->selection->recommended, 0);
    cr_assert_eq(overall->selection->rows[1].failed, 1);
}

/* As a study leaves it whose budget is short: each variant measured at its own best, the rest predicted. */
Test(overall, the_best_is_a_prediction_if_none_was_measured_everywhere)
{
    static const double first[] = {1.0, MISSING, MISSING, 2.0, MISSING, MISSING},
                        last[] = {MISSING, MISSING, 1.0, MISSING, MISSING, 2.0};
    add(RUE_RAW, "a", first, 3);
    add(RUE_RAW, "b", last, 3);
    for (size_t v = 0; v < 2; v++)
        for (size_t m = 0; m < 2; m++)
            for (size_t c = 0; c < 3; c++) {
                const double *times_s = v ? fast_many : fast_few;
                if (c == 2 * v) continue;
                cr_assert_eq(rue_cost_matrix_estimate(fixture.matrices[v], m, c, 1e9 * times_s[3 * m + c],
                                                      0.1, 0, true, NULL),
                             RUE_OK);
            }
    find(NULL);
    const struct rue_overall *overall = &fixture.findings.overall[0];
    cr_assert_eq(overall->selection->recommended, 1);
    cr_assert_eq(overall->selection->rows[1].repeats, 0);
    cr_assert_float_eq(overall->parts[0].mean_regret_ratio, 0.1, 1e-9);
    cr_assert_str_eq(overall->parts[1].name, "raw folder b");
}

Test(overall, a_model_weighs_the_same_in_every_variant)
{
    static const double for_bee[] = {1.0, 1.2, 1.4, 1.4, 1.2, 1.0};
    add(RUE_RAW, "a", for_bee, 3);
    add(RUE_PREPROCESSED, "b", for_bee, 3);
    find("bee=10");
    cr_assert_eq(fixture.findings.overall[0].selection->recommended, 2);
}

Test(overall, one_variant_or_no_common_model_has_no_overall_answer)
{
    add(RUE_RAW, "a", alike, 3);
    find(NULL);
    cr_assert_eq(fixture.findings.overall_count, 0);
    struct rue_config others[] = {fixture_config(64, 1)};
    const struct fixture_grid grid = {.mode = RUE_RAW,
                                      .configs = others,
                                      .config_count = 1,
                                      .models = models,
                                      .model_count = 2,
                                      .times_s = alike};
    fixture_add(&fixture, &grid);
    find(NULL);
    cr_assert_eq(fixture.findings.overall_count, 0);
}
