#include "scaling.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5 };

static struct rue_scaling_set sets[2];
static struct rue_scaling_row rows[ROWS];
static struct rue_scaling scaling;

static struct rue_scaling_row row(size_t set, int batch, int workers, double elapsed_s)
{
    struct rue_scaling_row made = {.set = set,
                                   .model = "none",
                                   .config = rue_config_default(),
                                   .of_batches = workers == 4,
                                   .of_workers = batch == 64,
                                   .tried = true,
                                   .images = 1000,
                                   .batches = (uint64_t)(1000 / batch),
                                   .elapsed_s = elapsed_s,
                                   .usage = rue_scaling_usage_unknown(),
                                   .timestamp = "2026-01-02T03:04:05Z"};
    made.config.value[RUE_BATCH_SIZE] = batch;
    made.config.value[RUE_NUM_WORKERS] = workers;
    return made;
}

static void setup(void)
{
    sets[0] = (struct rue_scaling_set){
        .variant = {.mode = RUE_RAW, .format = "folder"}, .dataset = "a, \"b\"", .cache = "warm"};
    sets[1] =
        (struct rue_scaling_set){.variant = {.mode = RUE_PREPROCESSED, .format = "tensor", .dtype = "uint8"},
                                 .dataset = "x",
                                 .cache = "cold"};
    rows[0] = row(0, 16, 4, 10);
    rows[1] = row(0, 64, 4, 5);
    rows[2] = row(0, 64, 8, 5);
    rows[3] = row(1, 64, 4, 1);
    rows[3].outcome = RUE_TRIAL_FAILED;
    snprintf(rows[3].reason, sizeof rows[3].reason, "it broke, \"so\"");
    rows[4] = row(1, 64, 8, 2);
    rows[4].tried = false;
    rows[1].usage.cpu_percent = (struct rue_scaling_figure){150, 200};
    rows[1].usage.read_mb = 12.5;
    rows[3].cache_missed = RUE_ABSENT;
    scaling = (struct rue_scaling){
        .set_count = 2, .row_count = ROWS, .sets = sets, .rows = rows, .fixed = rows[1].config};
}

TestSuite(scaling, .init = setup, .timeout = 30);

/* What a renderer writes, to be freed. */
static char *rendered(bool table, int columns)
{
    const struct rue_report_style style = {.columns = columns};
    rue_error error = {0};
    char *text;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    rue_status status = table ? rue_scaling_show(&scaling, &style, stream, &error)
                              : rue_scaling_write_csv(&scaling, stream, &error);
    cr_assert_eq(status, RUE_OK, "%s", error.message);
    fclose(stream);
    return text;
}

Test(scaling, the_best_is_the_fastest_that_ran_the_first_of_equal_ones)
{
    cr_assert_eq(rue_scaling_best(&scaling, 0, "none"), 1);
    cr_assert_eq(rue_scaling_best(&scaling, 1, "none"), RUE_SCALING_NONE, "one failed, one was not tried");
    cr_assert_eq(rue_scaling_best(&scaling, 0, "other"), RUE_SCALING_NONE);
    cr_assert(rue_scaling_rate(&rows[1]) == 200 && isnan(rue_scaling_rate(&rows[3])) &&
              isnan(rue_scaling_rate(&rows[4])));
}

Test(scaling, a_line_of_the_table_of_figures_is_a_row_that_was_tried)
{
    char *text = rendered(false, 0);
    cr_assert(
        strstr(text,
               "\nfolder,raw,\"a, \"\"b\"\"\",64,4,1000,5,200,3,150,200,,,,,12.5,,,,,,2026-01-02T03:04:05Z,"
               "none,warm,,ok,,0\n"),
        "%s", text);
    cr_assert(
        strstr(text,
               "\ntensor,preprocessed uint8,x,64,4,1000,1,,,,,,,,,,,,,,,2026-01-02T03:04:05Z,none,cold,,"
               "failed,\"it broke, \"\"so\"\"\",\n"),
        "%s", text);
    cr_assert_not(strstr(text, ",x,64,8,"), "it was not tried");
    free(text);
}

Test(scaling, a_curve_has_its_own_points)
{
    char *text = rendered(true, 0), *workers = strstr(text, "with batches of 64:");
    cr_assert(workers && strstr(text, "with 4 workers:") < workers, "%s", text);
    *workers = 0;
    cr_assert(strstr(text, " 16 ") && strstr(text, " 64 "), "%s", text);
    free(text);
}

Test(scaling, what_failed_says_so_and_what_nobody_knows_is_a_dash)
{
    char *text = rendered(true, 0);
    cr_assert(strstr(text, "failed") && strstr(text, " - ") && !strstr(text, "nan"), "%s", text);
    free(text);
}

Test(scaling, without_a_single_rate_there_is_no_best)
{
    for (int i = 0; i < ROWS; i++) rows[i].tried = false;
    char *text = rendered(true, 80);
    cr_assert_not(strstr(text, "best"), "%s", text);
    free(text);
}

Test(scaling, json_has_null_for_what_is_not_known)
{
    json_t *root = rue_scaling_json(&scaling), *list = json_object_get(root, "rows");
    cr_assert_eq(json_array_size(list), ROWS);
    cr_assert(json_is_null(json_object_get(json_array_get(list, 4), "status")));
    cr_assert(json_is_null(json_object_get(json_array_get(list, 0), "cpu_percent_mean")));
    cr_assert_eq(json_real_value(json_object_get(json_array_get(list, 1), "samples_per_sec")), 200);
    cr_assert_eq(json_array_size(json_object_get(root, "best")), 1);
    json_decref(root);
}

Test(scaling, a_trial_that_was_not_as_the_title_says_is_told_of)
{
    rows[2].cache_missed = 1;
    char *text = rendered(true, 0), *csv = rendered(false, 0);
    cr_assert(strstr(text, "  1 of 3 trials was not warm"), "%s", text);
    cr_assert(strstr(csv, ",ok,,1\n") && strstr(csv, ",cache_missed\n"), "%s", csv);
    free(text);
    free(csv);
    rows[2].cache_missed = 0;
    text = rendered(true, 0);
    cr_assert_not(strstr(text, "not warm"), "%s", text);
    free(text);
}

static struct rue_scaling_usage watched(size_t samples)
{
    struct rue_scaling_usage usage = rue_scaling_usage_unknown();
    usage.samples = samples;
    usage.rss_mb = (struct rue_scaling_figure){4, 5};
    usage.cpu_percent = (struct rue_scaling_figure){28, 40};
    usage.read_mb = 591;
    return usage;
}

Test(scaling, what_samples_missed_the_trial_tells)
{
    struct rue_scaling_usage usage = watched(2);
    struct rue_trial_result result = rue_trial_result_empty();
    rue_scaling_usage_complete(&usage, &result);
    cr_assert(usage.rss_mb.mean == 4 && usage.cpu_percent.mean == 28 && usage.read_mb == 591);
    result.anon_peak_bytes = 700000000;
    result.file_peak_bytes = 71000000;
    result.read_bytes = 99000000;
    result.cpu_ratio = 1.125;
    rue_scaling_usage_complete(&usage, &result);
    cr_assert(usage.rss_mb.mean == 771 && usage.rss_mb.peak == 771 && usage.read_mb == 99);
    cr_assert(usage.cpu_percent.mean == 112.5 && usage.cpu_percent.peak == 112.5);
}

Test(scaling, of_a_trial_with_samples_enough_the_trial_adds_peaks_alone)
{
    struct rue_scaling_usage usage = watched(50);
    struct rue_trial_result result = rue_trial_result_empty();
    result.anon_peak_bytes = 6000000;
    result.cpu_ratio = 2;
    rue_scaling_usage_complete(&usage, &result);
    cr_assert(usage.rss_mb.mean == 4 && usage.rss_mb.peak == 6 && usage.cpu_percent.mean == 28);
}
