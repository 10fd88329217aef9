#include "comparison.h"

#include "findings_fixture.h"

TestSuite(report_compare, .timeout = 60);

enum { RAW, PREPARED, COPY, SIDES };

static const char *const models[] = {"ape", "bee"};
static struct fixture fixture;

/* Jobs of 100 of 1,000 images: an epoch is ten jobs. */
static void begin(void)
{
    static const double times_s[SIDES][2] = {{10, 50}, {2, 50}, {9.9, 40}};
    static struct rue_config config;
    config = fixture_config(32, 4);
    fixture_open(&fixture);
    for (int s = 0; s < SIDES; s++) {
        const struct fixture_grid grid = {.mode = s == PREPARED ? RUE_PREPROCESSED : RUE_RAW,
                                          .configs = &config,
                                          .config_count = 1,
                                          .models = models,
                                          .model_count = 2,
                                          .times_s = times_s[s]};
        struct rue_variant_findings *variant = fixture_add(&fixture, &grid);
        variant->job.images = 100;
        variant->data.images = 1000;
        variant->data.storage_bytes = 1e6 * (s + 1);
        variant->data.build_s_per_image = s == RAW ? 0 : 0.16;
        strcpy(variant->job.workload.cache, "warm");
        snprintf(variant->variant.path, sizeof variant->variant.path, "/data/%d", s);
    }
}

static struct rue_payback payback(int side, size_t model)
{
    struct rue_comparison *comparison;
    rue_status status = rue_comparison_open(&fixture.findings, &fixture.variants[RAW],
                                            &fixture.variants[side], &comparison, NULL);
    cr_assert(status == RUE_OK && comparison);
    const struct rue_comparison_row *row = &comparison->rows[model];
    struct rue_payback found = rue_comparison_payback(comparison, &row->saving, row->speedup_ratio);
    rue_comparison_close(comparison);
    return found;
}

static double pays_after(int side, size_t model)
{
    return payback(side, model).epochs;
}

Test(report_compare, payback_is_conversion_time_over_the_saving_per_epoch)
{
    begin();
    cr_assert_float_eq(pays_after(PREPARED, 0), 2, 1e-9);
    cr_assert(isinf(pays_after(PREPARED, 1)), "it saves nothing");
    cr_assert(isinf(pays_after(COPY, 0)), "a hundredth is no gain");
    cr_assert_float_eq(pays_after(COPY, 1), 1.6, 1e-9);
    fixture.variants[RAW].job.workload.world_size = 4;
    cr_assert_float_eq(pays_after(PREPARED, 0), 8, 1e-9, "each of 4 ranks loads a quarter of an epoch");
    fixture.variants[RAW].job.workload.world_size = 1;
    fixture.variants[PREPARED].data.images = 10; /* a sample of them, say */
    cr_assert_float_eq(pays_after(PREPARED, 0), 2, 1e-9);
    fixture.variants[PREPARED].data.build_s_per_image = 0;
    cr_assert(isnan(pays_after(PREPARED, 0)));
    fixture_close(&fixture);
}

static char *show(void)
{
    return fixture_render(&rue_report_compare, &fixture, (struct rue_report_style){.columns = 0});
}

static void expect(const char *text, const char *part)
{
    cr_expect(strstr(text, part), "%s is not in: %s", part, text);
}

/* The page where the first two variants are zarr stores, with repeats that are off by `off`. */
static char *show_stores(double off)
{
    begin();
    strcpy(fixture.variants[PREPARED].variant.format, "zarr");
    strcpy(fixture.variants[RAW].variant.format, "zarr");
    strcpy(fixture.variants[PREPARED].data.layout, "16x3x8x8 zstd");
    strcpy(fixture.variants[RAW].data.layout, "1x3x8x8 none");
    if (off > 0) fixture_repeat(&fixture, off);
    char *text = show();
    fixture_close(&fixture);
    return text;
}

Test(report_compare, the_fastest_zarr_store_is_named_if_repeats_prove_it)
{
    char *text = show_stores(0.001);
    expect(
        text,
        "Of the 2 zarr stores, preprocessed zarr float32 16x3x8x8 zstd is the fastest: 55 % less time than "
        "raw zarr 1x3x8x8 none, 1.0 MB more storage.");
    free(text);
    text = show_stores(0.5);
    expect(text, "Of the 2 zarr stores, none is proven to be the fastest.");
    free(text);
    text = show_stores(0);
    cr_expect_null(strstr(text, "zarr stores"));
    free(text);
}

Test(report_compare, the_page_has_the_payback_and_the_variant_to_use)
{
    begin();
    char *text = show();
    expect(text, "Job of 100 images, data read warm, each variant");
    expect(text, "each with its own best configuration: time of 1,000 images");
    expect(text, " 2.0 epochs\n");
    expect(text, "never");
    expect(text, "Preprocessed tensors have a fixed crop");
    expect(text, "batch_size 32, num_workers 4: 2.24 times as fast as raw folder");
    expect(text,
           "(geometric mean over 2 models); making it pays back on average after 4 epochs of training, but "
           "never for 1 of 2 models: bee.");
    free(text);
    fixture.variants[PREPARED].data.build_s_per_image = 0;
    text = show();
    cr_expect(!strstr(text, "making it pays"), "%s", text);
    free(text);
    fixture.findings.variants = &fixture.variants[PREPARED]; /* what is compared with it is not faster */
    fixture.findings.variant_count = 2;
    text = show();
    expect(text, "Use preprocessed tensor float32 with");
    expect(text, "no other variant is more than 5 % faster.");
    free(text);
    strcpy(fixture.findings.changes.busy_before, "other processes used 3 CPUs");
    text = show();
    expect(text, "no other variant is more than 5 % faster. Low confidence");
    free(text);
    fixture_close(&fixture);
}

Test(report_compare, what_a_longer_queue_gains_is_said_for_each_variant)
{
    begin();
    fixture.variants[RAW].trials.queue = (struct rue_queue_findings){.bound = 2, .batch_ns = 20000000};
    fixture.variants[PREPARED].trials.queue.ample = 1;
    char *text = show();
    expect(text, "A queue longer than 8 batches for raw folder 0 data is only a head start of 20 ms");
    expect(text,
           "A queue longer than 8 batches for preprocessed tensor float32 data gains nothing: it did not");
    free(text);
    text = fixture_render(&rue_report_compare, &fixture, (struct rue_report_style){.brief = true});
    cr_expect(!strstr(text, "A queue longer"), "the space has queues of one length: %s", text);
    free(text);
    text = fixture_render(&rue_report_compare_json, &fixture, (struct rue_report_style){.columns = 0});
    expect(text, "\"queue_bound\": 2,");
    expect(text, "\"queue_batch_ns\": 20000000");
    free(text);
    fixture_close(&fixture);
}

Test(report_compare, variants_that_cannot_be_compared_have_their_own_answers)
{
    begin();
    for (int v = 0; v < SIDES; v++) fixture.variants[v].goal = RUE_GOAL_THROUGHPUT;
    char *text = show();
    expect(text, "Use batch_size 32, num_workers 4 for raw folder 0 data");
    expect(text, "Use batch_size 32, num_workers 4 for preprocessed tensor float32 data");
    cr_expect(!strstr(text, "faster"), "%s", text);
    free(text);
    fixture_close(&fixture);
}

Test(report_compare, memory_and_cpu_are_those_of_the_trials_at_the_best)
{
    begin();
    for (size_t i = 0; i < 3; i++) {
        struct rue_trial_row *row = &fixture.rows[i];
        row->result = rue_trial_result_empty();
        row->result.outcome = RUE_TRIAL_OK;
        row->request.variant = fixture.variants[RAW].variant;
        row->request.config = fixture_config(i == 2 ? 64 : 32, 4);
        row->result.images = 100;
        row->result.end_to_end_ns = 1000000000;
        row->result.cpu_ratio = 2;
        row->result.anon_peak_bytes = (int64_t)(i + 1) * 1000000000;
    }
    fixture.row_count = 3;
    char *text = fixture_render(&rue_report_compare_json, &fixture, (struct rue_report_style){.columns = 0});
    expect(text, "\"anon_peak_bytes\": 2000000000");
    expect(text, "\"cpu_ns_per_image\": 20000000");
    expect(text, "\"cpu_ns_per_image\": null");
    free(text);
    fixture_close(&fixture);
}

/* As if a side's trials of the model had been made two times more, off by that; the median is what it was. */
static void repeat(int side, size_t model, double off)
{
    double ns = rue_cost_matrix_cell(fixture.matrices[side], model, 0)->median_ns;
    const double more[] = {(1 - off) * ns, (1 + off) * ns};
    cr_assert_eq(rue_cost_matrix_add_repeats(fixture.matrices[side], model, 0, more, 2, false, NULL), RUE_OK);
    fixture.variants[side].interval.confidence = 0.95;
}

static void repeat_all(double off)
{
    for (int s = 0; s < SIDES; s++)
        for (size_t m = 0; m < 2; m++) repeat(s, m, off);
}

Test(report_compare, repeats_give_an_interval_in_epochs)
{
    begin();
    cr_assert_eq(payback(PREPARED, 0).confidence, 0, "one repeat tells nothing of noise");
    repeat_all(0.02);
    struct rue_payback found = payback(PREPARED, 0); /* saves 80 of 100 s */
    cr_assert(found.confidence == 0.95 && found.epochs == 2);
    cr_assert(found.low > 1.85 && found.low < 1.97, "%f", found.low);
    cr_assert(found.high > 2.03 && found.high < 2.2, "%f", found.high);
    found = payback(PREPARED, 1); /* the same time */
    cr_assert(isinf(found.epochs) && isinf(found.high) && isfinite(found.low));
    fixture_close(&fixture);
}

Test(report_compare, any_difference_beyond_the_noise_counts)
{
    begin();
    repeat(RAW, 0, 0.0005);
    repeat(COPY, 0, 0.0005);
    struct rue_payback found = payback(COPY, 0); /* saves a hundredth */
    cr_assert_float_eq(found.epochs, 160, 1e-6, "%f", found.epochs);
    cr_assert(found.low < 160 && found.high > 160 && isfinite(found.high));
    fixture_close(&fixture);
}

/* With --accept-busy the ratios are there, without intervals. */
Test(report_compare, a_machine_that_was_not_steady_withholds_the_speed_up)
{
    const struct rue_report_style plain = {.columns = 0};
    begin();
    repeat_all(0.02);
    fixture.findings.changes.contention.affected_ratio = 0.9;
    char *text = show();
    cr_expect(!strstr(text, " times as fast") && !strstr(text, "epochs") && !strstr(text, " x "), "%s", text);
    expect(text, "Not reliable: ");
    expect(text, "Best so far");
    free(text);
    text = fixture_render(&rue_report_compare_json, &fixture, plain);
    expect(text, "\"decided\": false");
    expect(text, "\"why_not\": \"other programs or changes of speed affected 90 % of the time");
    expect(text, "\"comparisons\": []");
    free(text);
    fixture.findings.run.accepts_busy = true;
    text = show();
    expect(text, " times as fast");
    free(text);
    fixture_close(&fixture);
}

Test(report_compare, the_page_and_the_document_have_the_interval)
{
    begin();
    char *text = show();
    cr_expect(!strstr(text, "CI") && !strstr(text, "2.0 ("), "%s", text);
    free(text);
    repeat_all(0.02);
    text = show();
    expect(text, " 2.0 epochs (1.9 to 2.1)");
    expect(text, " (95 % CI ");
    free(text);
    repeat(COPY, 1, 0.9);
    repeat(RAW, 1, 0.9);
    text = show();
    expect(text, " to never)");
    free(text);
    text = fixture_render(&rue_report_compare_json, &fixture, (struct rue_report_style){.columns = 0});
    expect(text, "\"format\": \"rue.compare/2\"");
    expect(text, "\"confidence\": 0.95");
    expect(text, "\"low_epochs\": 0.");
    expect(text, "\"high_epochs\": null");
    free(text);
    fixture_close(&fixture);
}
