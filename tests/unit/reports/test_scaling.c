#include "scaling.h"

#include "findings_fixture.h"

enum { ROWS = 5, SAMPLES = 6 };

static const char *const models[] = {"none"};
static struct fixture fixture;
static struct rue_trial_result results[ROWS];
static struct rue_scaling_row rows[ROWS];
static struct rue_usage_sample samples[SAMPLES];
static struct rue_scaling scaling;

/* Configurations: 16/4, 64/4, 64/8. The raw data: 100, 200 and 195 images a second; of the tensors, 64/4
 * failed and 64/8 was not tried. */
static void setup(void)
{
    static const double raw_s[] = {10, 5, 5.12}, tensor_s[] = {8, FAILED, MISSING};
    const struct rue_config configs[] = {fixture_config(16, 4), fixture_config(64, 4), fixture_config(64, 8)};
    const size_t order[ROWS][2] = {{0, 2}, {1, 1}, {0, 0}, {0, 1}, {1, 0}};
    struct fixture_grid grid = {RUE_RAW, configs, 3, models, 1, raw_s, false, "it broke, \"so\""};
    fixture_open(&fixture);
    fixture_add(&fixture, &grid);
    grid.mode = RUE_PREPROCESSED;
    grid.times_s = tensor_s;
    fixture_add(&fixture, &grid);
    for (int v = 0; v < 2; v++) strcpy(fixture.variants[v].job.workload.cache, v ? "cold" : "warm");
    for (size_t i = 0; i < ROWS; i++) {
        double s = (order[i][0] ? tensor_s : raw_s)[order[i][1]];
        struct rue_trial_result *result = &results[i];
        *result = rue_trial_result_empty();
        result->outcome = s > 0 ? RUE_TRIAL_OK : RUE_TRIAL_FAILED;
        if (s > 0) {
            result->images = 1000;
            result->end_to_end_ns = (int64_t)(s * 1e9);
        } else {
            strcpy(result->reason, "it broke, \"so\"");
        }
        rows[i] = (struct rue_scaling_row){.variant = order[i][0],
                                           .config = order[i][1],
                                           .trial = i + 1,
                                           .loaders = 1,
                                           .result = &results[i]};
    }
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = (struct rue_usage_sample){.time_s = i + 1,
                                               .cpu_percent = 100 * i,
                                               .rss_mb = i,
                                               .read_mb = 1,
                                               .write_mb = 2,
                                               .gpu_percent = i < 3 ? NAN : 10 * i,
                                               .gpu_memory_mb = NAN};
    scaling = (struct rue_scaling){.findings = &fixture.findings,
                                   .fixed_batch = 64,
                                   .fixed_workers = 4,
                                   .row_count = ROWS,
                                   .rows = rows};
    rue_scaling_open(&scaling);
}

static void teardown(void)
{
    fixture_close(&fixture);
}

TestSuite(scaling, .init = setup, .fini = teardown, .timeout = 30);

/* What a renderer writes, to be freed. */
static char *written(rue_status (*write)(const void *scaling, FILE *stream, rue_error *error))
{
    const struct rue_report_style style = {.columns = 0};
    rue_error error = {0};
    char *text;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    rue_status status =
        write ? write(&scaling, stream, &error) : rue_scaling_show(&scaling, &style, stream, &error);
    cr_assert_eq(status, RUE_OK, "%s", error.message);
    fclose(stream);
    return text;
}

static void expect(const char *text, const char *part)
{
    cr_expect(strstr(text, part), "%s is not in: %s", part, text);
}

Test(scaling, rows_are_sorted_and_a_rate_uses_the_images_that_ran)
{
    cr_assert(rows[0].variant == 0 && rows[0].config == 0 && rows[2].config == 2 && rows[3].variant == 1);
    cr_assert(rue_scaling_rate(&rows[1]) == 200 && isnan(rue_scaling_rate(&rows[4])));
}

Test(scaling, a_line_is_a_point_of_a_curve)
{
    char *text = written(rue_scaling_write_csv);
    cr_assert(strncmp(text, RUE_SCALING_MARK, strlen(RUE_SCALING_MARK)) == 0, "%s", text);
    expect(text, "\nfolder,raw,/data/photos,none,batch_size,16,4,100,");
    expect(text, "\nfolder,raw,/data/photos,none,batch_size,64,4,200,");
    expect(text, "\nfolder,raw,/data/photos,none,num_workers,64,4,200,");
    expect(text, "\nfolder,raw,/data/photos,none,num_workers,64,8,195.3125,");
    expect(text, ",failed,\"it broke, \"\"so\"\"\",");
    free(text);
}

Test(scaling, a_curve_marks_its_saturation)
{
    char *text = written(NULL), *workers = strstr(text, "batch_size 64:");
    cr_assert(workers && strstr(text, "4 workers:") < workers, "%s", text);
    expect(text, ": batch_size 64 is the fastest, ");
    expect(text, ": 4 workers are the fastest, ");
    expect(text, "failed");
    cr_assert(!strstr(text, "nan"), "%s", text);
    free(text);
    results[0].end_to_end_ns = INT64_C(4900000000); /* 64/8 */
    text = written(NULL);
    expect(text, ": 8 workers are the fastest, 204 images/s; 4 workers already reach 98 % of that.");
    free(text);
}

Test(scaling, files_without_a_trial_have_their_header)
{
    char *all = written(rue_scaling_write_csv), *samples_all = written(rue_scaling_write_samples);
    scaling.row_count = scaling.sample_count = 0;
    char *text = written(rue_scaling_write_csv), *samples_text = written(rue_scaling_write_samples);
    cr_assert(strchr(text, '\n')[1] == 0 && strncmp(text, all, strlen(text)) == 0, "%s", text);
    cr_assert_str_eq(samples_text, RUE_SAMPLES_MARK
                     "threads,cpu_percent,rss_mb,read_mb,write_mb,gpu_percent,gpu_memory_mb\n");
    cr_assert_eq(strncmp(samples_all, samples_text, strlen(samples_text)), 0);
    free(all);
    free(samples_all);
    free(text);
    free(samples_text);
}

Test(scaling, no_point_is_fastest_without_a_rate)
{
    for (int i = 0; i < ROWS; i++) results[i].outcome = RUE_TRIAL_FAILED;
    char *text = written(NULL);
    cr_assert_not(strstr(text, "astest"), "%s", text);
    free(text);
}

Test(scaling, json_has_null_for_unknown_values)
{
    char *text;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_eq(rue_scaling_json(&scaling, stream, NULL), RUE_OK);
    fclose(stream);
    json_t *root = json_loads(text, 0, NULL), *list = json_object_get(root, "rows");
    cr_assert_eq(json_array_size(list), 7);
    cr_assert(json_is_null(json_object_get(json_array_get(list, 0), "cpu_percent_mean")));
    cr_assert_eq(json_real_value(json_object_get(json_array_get(list, 1), "images_per_s")), 200);
    cr_assert(json_is_true(json_object_get(json_array_get(list, 1), "fastest")));
    json_decref(root);
    free(text);
}

Test(scaling, a_trial_in_the_wrong_cache_state_is_reported)
{
    results[0].cache_missed = 1;
    char *text = written(NULL);
    expect(text, "1 trial was not warm, even when repeated");
    free(text);
}

/* The second row ran from 1.5 to 5.5 s. */
static void watch(size_t count)
{
    struct rue_trial_result *result = &results[rows[1].trial - 1];
    rows[1].started_ns = 1000000000;
    result->cost_ns = 4500000000;
    result->end_to_end_ns = 4000000000;
    rows[1].sampled = true;
    scaling.samples = samples;
    scaling.sample_count = count;
    rue_scaling_open(&scaling);
}

Test(scaling, usage_of_a_trial_is_summed_from_its_samples)
{
    watch(SAMPLES); /* those at 2, 3, 4 and 5 s */
    const double *used = rows[1].figures;
    cr_assert(used[RUE_SCALING_CPU] == 250 && used[RUE_SCALING_CPU_PEAK] == 400);
    cr_assert(used[RUE_SCALING_RSS] == 2.5 && used[RUE_SCALING_RSS_PEAK] == 4);
    cr_assert(used[RUE_SCALING_READ] == 4 && used[RUE_SCALING_WRITE] == 8);
    cr_assert(used[RUE_SCALING_GPU] == 35 && used[RUE_SCALING_GPU_PEAK] == 40);
    cr_assert(isnan(used[RUE_SCALING_GPU_MEMORY_PEAK]) && isnan(rows[0].figures[RUE_SCALING_CPU]));
    char *text = written(rue_scaling_write_samples);
    cr_assert(strncmp(text, RUE_SAMPLES_MARK, strlen(RUE_SAMPLES_MARK)) == 0, "%s", text);
    expect(text, "\n,1,");
    expect(text, "\n4,2,");
    expect(text, "\n4,5,");
    expect(text, "\n,6,");
    free(text);
}

Test(scaling, samples_of_a_discarded_trial_do_not_count_for_the_next)
{
    rows[1].discarded_ns = 1000000000; /* it ran from 2.5 to 6.5 s */
    watch(SAMPLES);
    cr_assert(rows[1].figures[RUE_SCALING_CPU] == 350 && rows[1].figures[RUE_SCALING_READ] == 4);
    char *text = written(rue_scaling_write_samples);
    expect(text, "\n,2,");
    expect(text, "\n4,3,");
    expect(text, "\n4,6,");
    free(text);
}

Test(scaling, a_trial_with_few_samples_uses_its_own_figures)
{
    struct rue_trial_result *result = &results[rows[1].trial - 1];
    result->anon_peak_bytes = 700000000;
    result->file_peak_bytes = 71000000;
    result->read_bytes = 99000000;
    result->cpu_ratio = 1.125;
    watch(3);
    const double *used = rows[1].figures;
    cr_assert(used[RUE_SCALING_RSS] == 771 && used[RUE_SCALING_RSS_PEAK] == 771);
    cr_assert(used[RUE_SCALING_READ] == 99 && used[RUE_SCALING_CPU] == 112.5);
    watch(SAMPLES);
    cr_assert(used[RUE_SCALING_CPU] == 250 && used[RUE_SCALING_RSS] == 2.5, "samples enough");
    cr_assert(used[RUE_SCALING_RSS_PEAK] == 771 && used[RUE_SCALING_READ] == 99);
}
