#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "findings_fill.h"
#include "findings_fixture.h"
#include "kept_findings.h"
#include "report.h"
#include "selection.h"
#include "study_outcome.h"

TestSuite(kept_findings, .timeout = 120);

Test(kept_findings, stored_rows_of_a_scenario_keep_their_name)
{
    const struct rue_store_origin origin = {.data_digest = "d1", .runner = "rue", .machine = "m1"};
    const struct rue_trial_request request = {
        .variant = {RUE_PREPROCESSED, "tensor", "f16", "a path"}, .model = "a model", .job_images = 1000};
    char key[RUE_SCENARIO_BYTES];
    rue_kept_scenario(&origin, &request, "{}", key);
    cr_assert_str_eq(key, "7c9314be8f68ccfe", "runs before this rue stored another name");
}

static const struct rue_ranking_rules plain_rules = {.top_n = 3, .confidence = 0.95};

static const char scenarios[2][RUE_SCENARIO_BYTES] = {"0123456789abcdef", "fedcba9876543210"};
static uint64_t disturbed[] = {3, 7};

/* A store with a run that found this. */
static struct rue_store *keep(struct fixture *fixture)
{
    struct rue_store *store;
    rue_error error = {0};
    for (size_t v = 0; v < fixture->findings.variant_count; v++)
        strcpy(fixture->findings.variants[v].scenario, scenarios[v % 2]);
    cr_assert(rue_store_open(NULL, false, &store, &error) == RUE_OK, "%s", error.message);
    cr_assert(rue_store_begin_run(store, "rue tune", "1", "now", &rue_own_knobs, &error) == RUE_OK);
    const struct rue_store_result row = {
        .result = rue_store_run_id(store), .disturbed_count = 2, .disturbed = disturbed};
    cr_assert_eq(rue_kept_save(store, &fixture->findings, &plain_rules, row, &error), RUE_OK, "%s",
                 error.message);
    return store;
}

/* What run `index` knew, read back. */
static rue_status read_back(struct rue_store *store, size_t index, struct rue_recommendation **out,
                            rue_error *error)
{
    struct rue_store_rows results;
    cr_assert(rue_store_read_rows(store, RUE_STORE_RESULTS, RUE_ABSENT, &results, error) == RUE_OK, "%s",
              error->message);
    cr_assert(index < results.count);
    rue_status status = rue_kept_read(store, &results, index, "the store", out, error);
    rue_store_rows_close(&results);
    return status;
}

Test(kept_findings, a_result_of_only_a_scenario_is_refused)
{
    struct fixture fixture;
    struct rue_recommendation *found;
    rue_error error = {0};
    fixture_open_plain(&fixture);
    const struct rue_cost_matrix *matrix = fixture.findings.variants[1].matrix;
    fixture.findings.variants[1].matrix = NULL;
    struct rue_store *store = keep(&fixture);
    fixture.findings.variants[1].matrix = matrix;
    cr_expect_eq(read_back(store, 0, &found, &error), RUE_STORE);
    cr_expect(!found && strstr(error.message, "findings[1]"), "%s", error.message);
    rue_store_close(store);
    fixture_close(&fixture);
}

Test(kept_findings, the_report_of_stored_findings_is_the_same)
{
    struct fixture fixture;
    struct rue_recommendation *found;
    struct rue_findings *ranked;
    char *before, *after;
    rue_error error = {0};
    fixture_open_plain(&fixture);
    fixture.findings.runner.pins_memory = true;
    fixture.findings.run.partial = true;
    strcpy(fixture.findings.run.partial_reason, "the budget was spent");
    strcpy(fixture.findings.changes.disturbance, "the CPUs were throttled");
    fixture.findings.changes.contention = (struct rue_contention_findings){0.3, 0.25, 0.75, 2, true};
    struct rue_store *store = keep(&fixture);
    cr_assert_eq(read_back(store, 0, &found, &error), RUE_OK, "%s", error.message);
    cr_assert_eq(rue_kept_rank(found, &plain_rules, &ranked, &error), RUE_OK);
    strcpy(ranked->study, fixture.findings.study); /* of its folder */
    cr_expect(ranked->runner.pins_memory);
    struct rue_variant_findings bare[FIXTURE_VARIANTS]; /* further answers are computed in other tests */
    struct rue_findings shown = *ranked;
    memcpy(bare, ranked->variants, ranked->variant_count * sizeof *bare);
    for (size_t v = 0; v < ranked->variant_count; v++) bare[v].answers = fixture.variants[v].answers;
    shown.variants = bare;
    shown.overall_count = 0;
    cr_assert_eq(rue_report_json_text(&fixture.findings, &before, &error), RUE_OK);
    cr_assert_eq(rue_report_json_text(&shown, &after, &error), RUE_OK);
    cr_expect_str_eq(after, before);
    free(before);
    free(after);
    rue_findings_close(ranked);
    rue_recommendation_close(found);
    rue_store_close(store);
    fixture_close(&fixture);
}

/* A run that ended early keeps the result of an earlier one, with the changes that it knows itself. */
Test(kept_findings, the_result_of_a_run_may_be_that_of_an_earlier_one)
{
    struct fixture fixture;
    struct rue_recommendation *found;
    rue_error error = {0};
    struct rue_variant_findings only = {.scenario = "0123456789abcdef"};
    const struct rue_findings nothing = {.run.partial = true, .variant_count = 1, .variants = &only};
    struct rue_notice notice = {
        .trial = 4, .uncertain = 2, .uncertain_end = 4, .load_ratio = 1.5, .cause = "heat"};
    struct rue_dropped_node node = {
        .rank = 2, .discarded = 1, .discarded_end = 9, .node = "n2", .why = "slow"};
    fixture_open_plain(&fixture);
    fixture.findings.changes.contention = (struct rue_contention_findings){0.3, 0.25, 0.75, 2, true};
    struct rue_store *store = keep(&fixture);
    int64_t first = rue_store_run_id(store);
    cr_assert_eq(rue_store_begin_run(store, "rue tune", "1", "now", &rue_own_knobs, &error), RUE_OK);
    const struct rue_store_result under_way = {.result = RUE_ABSENT}, kept = {.result = first};
    cr_assert_eq(rue_kept_save(store, &nothing, &plain_rules, under_way, &error), RUE_OK, "%s",
                 error.message);
    cr_assert_eq(rue_store_add_row(store, RUE_STORE_CHANGES, &notice, &error), RUE_OK, "%s", error.message);
    cr_assert_eq(rue_store_add_row(store, RUE_STORE_EXCLUSIONS, &node, &error), RUE_OK, "%s", error.message);
    cr_assert_eq(read_back(store, 1, &found, &error), RUE_OK, "%s", error.message);
    cr_expect(found->under_way && found->count == 1 && !found->at[0].matrix);
    rue_recommendation_close(found);
    cr_assert_eq(rue_kept_save(store, &nothing, &plain_rules, kept, &error), RUE_OK, "%s", error.message);
    cr_assert_eq(read_back(store, 1, &found, &error), RUE_OK, "%s", error.message);
    cr_expect(!found->under_way && found->count == fixture.findings.variant_count);
    cr_expect(found->disturbed_count == 2 && found->disturbed[1] == 7);
    cr_expect_str_eq(found->found.run.command_line, fixture.findings.run.command_line);
    const struct rue_change_findings *changes = &found->found.changes;
    cr_expect(changes->contention.affected_ratio == 0.3 && changes->contention.other_cpus == 0.75 &&
              changes->contention.cpus == 2 && changes->contention.has_clean_pair);
    cr_assert(changes->notice_count == 1 && changes->dropped_count == 1);
    cr_expect(changes->notices->uncertain_end == 4 && changes->notices->load_ratio == 1.5);
    cr_expect_str_eq(changes->notices->cause, "heat");
    cr_expect(changes->dropped->rank == 2 && changes->dropped->discarded_end == 9);
    cr_expect_str_eq(changes->dropped->why, "slow");
    rue_recommendation_close(found);
    rue_store_close(store);
    fixture_close(&fixture);
}

Test(kept_findings, stored_cells_are_read_back_unchanged)
{
    static const double times_s[] = {30, MISSING, MISSING};
    static const char *const models[] = {"ape"};
    const struct rue_config configs[] = {fixture_config(8, 1), fixture_config(16, 1), fixture_config(32, 1)};
    const struct fixture_grid grid = {RUE_RAW, configs, 3, models, 1, times_s, false, ""};
    struct fixture fixture;
    struct rue_recommendation *found;
    rue_error error = {0};
    fixture_open(&fixture);
    fixture_add(&fixture, &grid);
    const struct rue_cost_matrix *was = fixture.matrices[0];
    cr_assert_eq(rue_cost_matrix_estimate(fixture.matrices[0], 0, 1, 2e10, 0.125, 2, true, NULL), RUE_OK);
    cr_assert_eq(rue_cost_matrix_estimate(fixture.matrices[0], 0, 2, 3e10, NAN, 1, false, NULL), RUE_OK);
    struct rue_store *store = keep(&fixture);
    cr_assert_eq(read_back(store, 0, &found, &error), RUE_OK, "%s", error.message);
    for (size_t c = 0; c < 3; c++) {
        const struct rue_cell *before = rue_cost_matrix_cell(was, 0, c),
                              *after = rue_cost_matrix_cell(found->at[0].matrix, 0, c);
        cr_expect_eq(after->state, before->state);
        cr_expect_eq(after->median_ns, before->median_ns);
        cr_expect_eq(after->repeats, before->repeats);
        cr_expect_eq(after->predicted, before->predicted);
        cr_expect(isnan(before->estimate_sd) ? isnan(after->estimate_sd)
                                             : after->estimate_sd == before->estimate_sd,
                  "cell %zu: %f, was %f", c, after->estimate_sd, before->estimate_sd);
    }
    cr_expect(found->trials == 0 && !found->under_way);
    cr_expect_str_eq(found->at[0].found.scenario, "0123456789abcdef");
    rue_recommendation_close(found);
    rue_store_close(store);
    fixture_close(&fixture);
}

/* A runner that reports times of years for a few images leads to these. */
Test(kept_findings, absurd_values_are_stored_as_the_largest_that_can_be_read)
{
    struct fixture fixture;
    struct rue_recommendation *found;
    struct rue_findings *ranked;
    rue_error error = {0};
    fixture_open_plain(&fixture);
    const struct rue_cost_matrix *was = fixture.findings.variants[0].matrix;
    cr_assert_eq(rue_cost_matrix_add(fixture.matrices[0], 0, 0, 1e30, true, NULL), RUE_OK);
    cr_assert_eq(rue_cost_matrix_estimate(fixture.matrices[0], 0, 1, 1e25, 1e12, 2, true, NULL), RUE_OK);
    fixture.variants[0].claim = (struct rue_claim_findings){.bound_ratio = 5.7e15, .confidence = 0.95};
    fixture.findings.run.duration_s = INFINITY;
    struct rue_store *store = keep(&fixture);
    cr_assert_eq(read_back(store, 0, &found, &error), RUE_OK, "%s", error.message);
    cr_expect_eq(rue_cost_matrix_cell(found->at[0].matrix, 0, 1)->repeats,
                 rue_cost_matrix_cell(was, 0, 1)->repeats);
    cr_expect_eq(found->at[0].found.claim.bound_ratio, 1e9);
    cr_assert_eq(rue_kept_rank(found, &plain_rules, &ranked, &error), RUE_OK, "%s", error.message);
    rue_findings_close(ranked);
    rue_recommendation_close(found);
    rue_store_close(store);
    fixture_close(&fixture);
}

Test(kept_findings, an_absurd_change_can_be_read_again)
{
    static struct rue_study_ledger ledger;
    const struct rue_notice notice = {.trial = 3, .load_ratio = INFINITY, .compute_ratio = 1e18};
    struct rue_store_rows rows;
    rue_error error = {0};
    cr_assert_eq(rue_store_open(NULL, false, &ledger.store, &error), RUE_OK, "%s", error.message);
    cr_assert_eq(rue_store_begin_run(ledger.store, "rue tune", "1", "now", &rue_own_knobs, &error), RUE_OK);
    cr_assert_eq(rue_study_note_change(&ledger, &notice, &error), RUE_OK, "%s", error.message);
    cr_expect_eq(rue_store_read_rows(ledger.store, RUE_STORE_CHANGES, RUE_ABSENT, &rows, &error), RUE_OK,
                 "%s", error.message);
    cr_expect_eq(rows.count, 1);
    rue_store_rows_close(&rows);
    rue_store_close(ledger.store);
}

Test(kept_findings, stored_baselines_are_compared_again)
{
    const struct rue_ranking_rules worst = {.top_n = 3, .confidence = 0.95, .objective = RUE_OBJECTIVE_WORST};
    for (int claims = 0; claims < 2; claims++) {
        struct fixture fixture;
        struct rue_recommendation *found;
        struct rue_findings *ranked;
        rue_error error = {0};
        fixture_open_plain(&fixture);
        fixture.variants[0].baselines = (struct rue_baseline_findings){
            .count = 2, .rows = {{0, "no workers", {0}}, {3, "workers = CPUs", {0}}}};
        struct rue_store *store = keep(&fixture);
        cr_assert_eq(read_back(store, 0, &found, &error), RUE_OK, "%s", error.message);
        cr_assert_eq(rue_kept_rank(found, claims ? &plain_rules : &worst, &ranked, &error), RUE_OK);
        const struct rue_variant_findings *back = &ranked->variants[0];
        cr_expect_eq(back->baselines.count, claims ? 2 : 0, "of other rules nothing is claimed");
        if (claims) {
            cr_expect_eq(back->selection->recommended, 3);
            cr_expect_eq(back->baselines.found, 3);
            cr_expect_str_eq(back->baselines.rows[0].name, "no workers");
            cr_expect_eq(back->baselines.rows[1].config, 3);
            cr_expect_eq(back->baselines.rows[1].gain.confidence, 0, "it is the same");
        }
        rue_findings_close(ranked);
        rue_recommendation_close(found);
        rue_store_close(store);
        fixture_close(&fixture);
    }
}
