#include "kept_variant.h"

#include "findings_fixture.h"

TestSuite(kept_variant, .timeout = 60);

static const struct rue_cell *cell_of(const struct rue_variant_findings *variant, size_t config)
{
    return rue_cost_matrix_cell(variant->matrix, 0, config);
}

Test(kept_variant, cells_come_back_as_they_were)
{
    static const double times_s[] = {30, MISSING, MISSING};
    static const char *const models[] = {"ape"};
    const struct rue_config configs[] = {fixture_config(8, 1), fixture_config(16, 1), fixture_config(32, 1)};
    const struct fixture_grid grid = {RUE_RAW, configs, 3, models, 1, times_s, false, ""};
    struct fixture fixture;
    fixture_open(&fixture);
    const struct rue_variant_findings *variant = fixture_add(&fixture, &grid);
    cr_assert_eq(rue_cost_matrix_estimate(fixture.matrices[0], 0, 1, 2e10, 0.125, 2, true, NULL), RUE_OK);
    cr_assert_eq(rue_cost_matrix_estimate(fixture.matrices[0], 0, 2, 3e10, NAN, 1, false, NULL), RUE_OK);

    rue_error error = {0};
    struct rue_json_document document = {0};
    struct rue_json_reader reader = {
        .path = "the store", .advice = "mend it", .error = &error, .knobs = &rue_own_knobs};
    const struct rue_ranking_rules rules = {.top_n = 3, .confidence = 0.95};
    struct rue_variant_findings back = {.label = NULL};
    json_t *kept = rue_kept_variant_json(&document, variant, "key");
    rue_kept_variant_read(&reader, kept, &rules, true, &back);
    cr_assert_eq(reader.status, RUE_OK, "%s", error.message);
    for (size_t c = 0; c < 3; c++) {
        const struct rue_cell *was = cell_of(variant, c), *is = cell_of(&back, c);
        cr_expect_eq(is->state, was->state);
        cr_expect_eq(is->median_ns, was->median_ns);
        cr_expect_eq(is->repeats, was->repeats);
        cr_expect_eq(is->predicted, was->predicted);
        cr_expect(isnan(was->estimate_sd) ? isnan(is->estimate_sd) : is->estimate_sd == was->estimate_sd,
                  "cell %zu: %f, was %f", c, is->estimate_sd, was->estimate_sd);
    }
    rue_selection_close((struct rue_selection *)back.selection);
    rue_cost_matrix_close((struct rue_cost_matrix *)back.matrix);
    json_decref(kept);
    fixture_close(&fixture);
}

/* Reads back what is kept of the plain fixture's raw variant with these baselines. */
static rue_status read_back(const struct rue_baseline_findings *baselines, bool claims, json_t *put,
                            struct rue_variant_findings *out, size_t *recommended)
{
    struct fixture fixture;
    struct rue_json_document document = {0};
    rue_error error = {0};
    struct rue_json_reader reader = {
        .path = "the store", .advice = "mend it", .error = &error, .knobs = &rue_own_knobs};
    const struct rue_ranking_rules rules = {.top_n = 3, .confidence = 0.95};
    fixture_open_plain(&fixture);
    fixture.variants[0].baselines = *baselines;
    json_t *kept = rue_kept_variant_json(&document, &fixture.variants[0], "key");
    if (put) json_object_update(json_array_get(json_object_get(kept, "baselines"), 0), put);
    *out = (struct rue_variant_findings){.label = NULL};
    rue_kept_variant_read(&reader, kept, &rules, claims, out);
    *recommended = out->selection ? out->selection->recommended : RUE_NONE;
    rue_selection_close((struct rue_selection *)out->selection);
    rue_cost_matrix_close((struct rue_cost_matrix *)out->matrix);
    json_decref(kept);
    fixture_close(&fixture);
    return reader.status;
}

static const struct rue_baseline_findings two = {
    .count = 2, .rows = {{0, "no workers", {0}}, {3, "workers = CPUs", {0}}}};

Test(kept_variant, baselines_come_back_and_are_compared_anew)
{
    struct rue_variant_findings back;
    size_t recommended;
    cr_assert_eq(read_back(&two, true, NULL, &back, &recommended), RUE_OK);
    cr_expect_eq(recommended, 3);
    cr_assert_eq(back.baselines.count, 2);
    cr_expect_eq(back.baselines.found, 3);
    cr_expect_str_eq(back.baselines.rows[0].name, "no workers");
    cr_expect_eq(back.baselines.rows[1].config, 3);
    cr_expect_eq(back.baselines.rows[1].gain.confidence, 0, "it is the same");
    cr_assert_eq(read_back(&two, false, NULL, &back, &recommended), RUE_OK);
    cr_expect_eq(back.baselines.count, 0, "of other rules nothing is claimed");
    cr_expect_eq(recommended, 3);
}

Test(kept_variant, a_baseline_that_is_no_column_is_refused)
{
    struct rue_variant_findings back;
    size_t recommended;
    json_t *put = json_pack("{s:i}", "config", 4);
    cr_assert_neq(read_back(&two, true, put, &back, &recommended), RUE_OK);
    json_decref(put);
}
