#include <jansson.h>
#include <unistd.h>

#include "findings_fixture.h"
#include "json_document.h"

/* The rendered document, parsed; also put into the folder RUE_TEST_OUT, where the schema's test looks for it.
 */
static json_t *parse(const struct fixture *fixture, const char *name)
{
    char *text = fixture_render(&rue_report_json, fixture, (struct rue_report_style){0});
    const char *folder = getenv("RUE_TEST_OUT");
    if (folder) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.json", folder, name);
        FILE *file = fopen(path, "w");
        cr_assert_not_null(file, "%s", path);
        fputs(text, file);
        fclose(file);
    }
    json_error_t why;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    cr_assert_not_null(root, "%s: line %d: %s", name, why.line, why.text);
    free(text);
    return root;
}

static json_t *first(const json_t *root)
{
    return json_array_get(json_object_get(root, "recommendations"), 0);
}

static void expect_config(const json_t *config, int batch_size, int num_workers)
{
    cr_assert_eq(json_integer_value(json_object_get(config, "batch_size")), batch_size);
    cr_assert_eq(json_integer_value(json_object_get(config, "num_workers")), num_workers);
}

static bool is_text(const json_t *object, const char *key, const char *expected)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value && strcmp(value, expected) == 0;
}

Test(report_json, gives_the_winner_with_its_regrets)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    json_t *root = parse(&fixture, "plain"), *recommendation = first(root);
    cr_assert(is_text(root, "format", "rue.recommendation/1"));
    expect_config(json_object_get(recommendation, "config"), 128, 8);
    cr_assert(is_text(json_object_get(recommendation, "config"), "parallelism", "batch"));
    cr_assert_eq(json_real_value(json_object_get(recommendation, "mean_regret_ratio")), 0.0);
    cr_assert(is_text(recommendation, "verified", "full"));
    cr_assert(is_text(recommendation, "measured_with", "rue"));
    cr_assert_null(json_object_get(recommendation, "torch"), "torch arguments that PyTorch has not measured");
    cr_assert_eq(json_array_size(json_object_get(recommendation, "configs")), 4u);
    cr_assert_eq(json_array_size(json_object_get(recommendation, "best_by_batch_size")), 2u);
    json_t *last = json_array_get(json_object_get(recommendation, "configs"), 0);
    double mean = (30.0 / 20 + 25.0 / 12 + 24.0 / 11) / 3 - 1;
    cr_assert_float_eq(json_real_value(json_object_get(last, "mean_regret_ratio")), mean, 1e-8);
    cr_assert_eq(json_integer_value(json_object_get(json_object_get(last, "end_to_end_ns"), "resnet18")),
                 INT64_C(25000000000));
    json_decref(root);
    fixture_close(&fixture);
}

Test(report_json, each_row_says_whether_its_trials_were_truncated)
{
    static const char *const wanted[] = {"full", "truncated", "predicted", "full"};
    struct fixture fixture;
    fixture_open_plain(&fixture);
    struct rue_ranking_row *rows = fixture.selections[0]->rows;
    rows[1].predicted = rows[2].predicted = true;
    rows[2].repeats = 0;
    json_t *rendered = parse(&fixture, "basis"), *configs = json_object_get(first(rendered), "configs");
    for (size_t c = 0; c < 4; c++) {
        const json_t *row = json_array_get(configs, c);
        cr_expect(is_text(row, "verified", wanted[c]), "%zu", c);
    }
    json_decref(rendered);
    fixture_close(&fixture);
}

Test(report_json, names_the_cause_of_a_busy_machine)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    strcpy(fixture.findings.changes.busy_before, "other processes used 1.3 CPUs");
    json_t *root = parse(&fixture, "busy"), *provenance = json_object_get(root, "provenance");
    cr_assert(json_is_true(json_object_get(root, "low_confidence")));
    cr_assert(is_text(provenance, "busy_before", "other processes used 1.3 CPUs"));
    cr_assert(json_is_null(json_object_get(provenance, "busy_after")));
    json_decref(root);
    fixture_close(&fixture);
}

Test(report_json, compares_raw_with_preprocessed_at_their_winners)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    json_t *root = parse(&fixture, "comparison");
    json_t *comparison = json_array_get(json_object_get(root, "comparisons"), 0);
    expect_config(json_object_get(json_object_get(comparison, "raw"), "config"), 128, 8);
    expect_config(json_object_get(json_object_get(comparison, "preprocessed"), "config"), 32, 4);
    json_t *model = json_array_get(json_object_get(comparison, "models"), 2);
    cr_assert(is_text(model, "model", "resnet18"), "models stand by name");
    cr_assert_float_eq(json_real_value(json_object_get(model, "speedup_ratio")), 12.0 / 8, 1e-8);
    double mean = cbrt(20.0 / 18 * 12 / 8 * 11 / 7);
    cr_assert_float_eq(json_real_value(json_object_get(comparison, "mean_speedup_ratio")), mean, 1e-8);
    json_decref(root);
    fixture_close(&fixture);
}

Test(report_json, compares_jobs_of_different_length_by_the_image)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    fixture.variants[1].job.images = 4734;
    fixture.variants[1].data.sample = true;
    json_t *root = parse(&fixture, "sample");
    json_t *comparison = json_array_get(json_object_get(root, "comparisons"), 0);
    json_t *model = json_array_get(json_object_get(comparison, "models"), 2);
    double expected = 12.0 / 9469 / (8.0 / 4734);
    cr_assert_float_eq(json_real_value(json_object_get(model, "speedup_ratio")), expected, 1e-8);
    json_decref(root);
    fixture_close(&fixture);
}

Test(report_json, names_missing_cells_with_their_reason)
{
    struct fixture fixture;
    fixture_open_gaps(&fixture);
    json_t *root = parse(&fixture, "gaps"), *recommendation = first(root);
    expect_config(json_object_get(recommendation, "config"), 32, 2);
    cr_assert(is_text(recommendation, "verified", "truncated"));
    json_t *configs = json_object_get(recommendation, "configs"), *row = json_array_get(configs, 1);
    cr_assert(json_is_false(json_object_get(row, "ranked")));
    cr_assert(json_is_null(json_object_get(row, "mean_regret_ratio")),
              "a NaN became something else than null");
    cr_assert(is_text(row, "source", "predicted"));
    json_t *miss = json_array_get(json_object_get(row, "misses"), 0);
    cr_assert(is_text(miss, "model", "resnet152") && is_text(miss, "status", "infeasible"));
    cr_assert(is_text(miss, "reason", "slabs of 9.2 GB, 8 GB allowed"));
    miss = json_array_get(json_object_get(json_array_get(configs, 2), "misses"), 0);
    cr_assert(is_text(miss, "status", "unmeasured") && json_is_null(json_object_get(miss, "reason")));
    json_t *best = json_array_get(json_object_get(recommendation, "best_by_batch_size"), 1);
    cr_assert(json_is_null(json_object_get(best, "config")), "128 has no ranked configuration");
    cr_assert_eq(json_array_size(json_object_get(root, "comparisons")), 0u);
    json_decref(root);
    fixture_close(&fixture);
}

Test(report_json, an_empty_ranking_has_a_reason_and_no_config)
{
    struct fixture fixture;
    fixture_open_nothing(&fixture);
    json_t *root = parse(&fixture, "nothing"), *recommendation = first(root);
    cr_assert(json_is_null(json_object_get(recommendation, "config")));
    cr_assert(json_is_null(json_object_get(recommendation, "top_n_winner")));
    const char *reason = json_string_value(json_object_get(recommendation, "reason"));
    cr_assert(reason && strstr(reason, "reason of 3 cells: out of \"memory\""), "%s", reason);
    json_decref(root);
    fixture_close(&fixture);
}

Test(report_json, pytorch_without_workers_gets_no_worker_arguments)
{
    struct fixture fixture;
    fixture_open_odd(&fixture);
    json_t *root = parse(&fixture, "odd"), *torch = json_object_get(first(root), "torch");
    expect_config(torch, 64, 0);
    cr_assert_eq(json_object_size(torch), 2u, "PyTorch refuses prefetch_factor without workers");
    cr_assert(json_is_true(json_object_get(root, "partial")));
    json_t *provenance = json_object_get(root, "provenance");
    cr_assert_eq(json_integer_value(json_object_get(provenance, "seed")), INT64_MAX, "a seed lost digits");
    cr_assert(json_is_null(json_object_get(provenance, "machine")));
    json_t *path = json_object_get(json_object_get(first(root), "variant"), "path");
    cr_assert_str_eq(json_string_value(path),
                     "/data/\"quoted\", spaced\nÜbung/\xEF\xBF\xBD\xEF\xBF\xBD/模型");
    json_decref(root);
    fixture_close(&fixture);
}

Test(report_json, pytorch_with_workers_gets_worker_settings)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    strcpy(fixture.findings.runner.measured_with, "torch");
    json_t *root = parse(&fixture, "torch"), *torch = json_object_get(first(root), "torch");
    expect_config(torch, 128, 8);
    cr_assert_eq(json_integer_value(json_object_get(torch, "prefetch_factor")), 2);
    cr_assert_null(json_object_get(torch, "persistent_workers")); /* not measured */
    json_decref(root);
    fixture_close(&fixture);
}

Test(report_json, writes_null_for_values_that_are_not_numbers)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    fixture.findings.run.duration_s = INFINITY;
    fixture.variants[1].data.build_s_per_image = NAN;
    json_t *root = parse(&fixture, "numbers");
    cr_assert(json_is_null(json_object_get(json_object_get(root, "provenance"), "duration_s")));
    json_decref(root);
    fixture_close(&fixture);
}

Test(report_json, an_empty_run_is_a_document_too)
{
    struct fixture fixture;
    fixture_open(&fixture);
    json_t *root = parse(&fixture, "empty");
    cr_assert_eq(json_array_size(json_object_get(root, "recommendations")), 0u);
    json_decref(root);
    fixture_close(&fixture);
}

Test(report_json, a_full_disk_is_reported)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    FILE *full = fopen("/dev/full", "w");
    cr_assert_not_null(full);
    rue_error error = {0};
    rue_status status =
        rue_report_json.render(&fixture.findings, &(struct rue_report_style){0}, full, &error);
    cr_assert_eq(status, RUE_STORE);
    cr_assert(strstr(error.message, "No space left"), "%s", error.message);
    fclose(full);
    fixture_close(&fixture);
}

/* In the words of the rest of the program. */
Test(report_json, has_the_answers_besides_the_recommendation)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    json_t *root = parse(&fixture, "answers"), *raw = first(root);
    json_t *set = json_object_get(raw, "smallest_set"), *left = json_object_get(raw, "leave_one_out");
    cr_assert_float_eq(json_real_value(json_object_get(set, "epsilon_ratio")), 0.05, 1e-12);
    cr_assert(json_is_true(json_object_get(set, "exact")));
    cr_assert_eq(json_array_size(json_object_get(left, "models")), 3);
    cr_assert_gt(json_array_size(json_object_get(raw, "pareto_front")), 0);
    cr_assert(json_is_null(json_object_get(raw, "interval")), "one repeat gives none");
    json_t *comparison = json_array_get(json_object_get(root, "comparisons"), 0);
    cr_assert(json_is_null(json_object_get(comparison, "saved_interval")), "nor here");
    json_decref(root);
    fixture.variants[0].answers = NULL;
    fixture.variants[0].interval = (struct rue_regret_interval){0.9, 0.01, 0.02, 0.03, 0.04, 0};
    fixture_repeat(&fixture, 0.02);
    fixture.variants[0].interval.confidence = 0.9;
    root = parse(&fixture, "interval");
    raw = first(root);
    comparison = json_array_get(json_object_get(root, "comparisons"), 0);
    json_t *saved = json_object_get(comparison, "saved_interval");
    double told = json_real_value(json_object_get(comparison, "saved_ns_per_image"));
    cr_assert_float_eq(json_real_value(json_object_get(saved, "confidence")), 0.9, 1e-12, "of the less sure");
    cr_assert_lt(json_real_value(json_object_get(saved, "low_ns_per_image")), told);
    cr_assert_gt(json_real_value(json_object_get(saved, "high_ns_per_image")), told);
    json_t *interval = json_object_get(raw, "interval");
    cr_assert_float_eq(json_real_value(json_object_get(interval, "confidence")), 0.9, 1e-12);
    cr_assert_float_eq(json_real_value(json_object_get(interval, "max_high_ratio")), 0.04, 1e-12);
    cr_assert(json_is_null(json_object_get(raw, "smallest_set")));
    cr_assert(json_is_null(json_object_get(raw, "pareto_front")));
    json_decref(root);
    fixture_close(&fixture);
}

Test(report_json, has_the_speed_up_over_the_baselines)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    fixture.variants[0].baselines = (struct rue_baseline_findings){
        .count = 2,
        .rows = {{0, "the baseline", {0.95, 1.5, 1.4, 1.6}}, {3, "workers = CPUs", {.confidence = 0}}},
        .found = 1,
        .found_gain = {0.95, 1.01, 0.98, 1.04}};
    json_t *root = parse(&fixture, "baselines"), *told = json_object_get(first(root), "baselines");
    json_t *rows = json_object_get(told, "rows"), *replaced = json_object_get(told, "replaced");
    json_t *gain = json_object_get(json_array_get(rows, 0), "gain");
    cr_assert_float_eq(json_real_value(json_object_get(gain, "speedup_ratio")), 1.5, 1e-12);
    cr_assert(json_is_true(json_object_get(gain, "proven")));
    cr_assert(json_is_false(json_object_get(json_array_get(rows, 0), "recommended")));
    cr_assert(json_is_true(json_object_get(json_array_get(rows, 1), "recommended")));
    cr_assert(json_is_null(json_object_get(json_array_get(rows, 1), "gain")));
    cr_assert(json_is_false(json_object_get(json_object_get(replaced, "gain"), "proven")));
    json_decref(root);
    fixture_close(&fixture);
}

static size_t allocations, failing;

static void *fail_one(size_t bytes)
{
    return ++allocations == failing ? NULL : malloc(bytes);
}

/* Long keys, so that the text grows in the middle of one. */
Test(report_json, text_written_without_memory_is_complete_or_absent)
{
    json_t *root = json_object();
    char key[300];
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof key, "%0250d", i);
        json_object_set_new(root, key, json_integer(i));
    }
    char *whole = rue_json_dump(root, JSON_COMPACT);
    json_set_alloc_funcs(fail_one, free);
    for (failing = 1, allocations = 1; allocations + 1 >= failing; failing++) {
        allocations = 0;
        char *made = rue_json_dump(root, JSON_COMPACT);
        cr_assert(!made || strcmp(made, whole) == 0, "allocation %zu failed", failing);
        free(made);
    }
    json_set_alloc_funcs(malloc, free);
    cr_assert_gt(failing, 2, "nothing was made to fail");
    free(whole);
    json_decref(root);
}
