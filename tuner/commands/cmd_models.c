#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "architecture.h"
#include "catalogue.h"
#include "commands.h"
#include "device.h"
#include "device_table.h"
#include "json_document.h"
#include "knob_list.h"
#include "model_extras.h"
#include "null_test.h"
#include "section.h"
#include "terminal.h"
#include "units.h"
#include "word_list.h"

enum { DEVICE, BATCH_SIZE, DEVICES, NULL_TEST, SLEEP, JSON };
enum { SIZES_MAX = 11, SLEEPS_MAX = 64 };

/* Of the null test: how long batches of one length are slept. */
static const uint64_t row_ns = 800 * RUE_NS_PER_MS;
static const char usual_sleeps[] = "200us,500us,1ms,2ms,5ms,10ms,20ms,50ms,100ms,200ms,500ms,1s,2s";

static const struct rue_option options_table[] = {
    [DEVICE] = {"device", RUE_OPTION_TEXT, "NAME", "rtx-a5000",
                "on which device, such as h100, h100:bf16 in another precision, host:2, or FILE.json of rue "
                "calibrate",
                0, 0, NULL},
    [BATCH_SIZE] = {"batch-size", RUE_OPTION_LIST, "LIST", "1,32,128,512", "batch sizes to tell the time of",
                    0, 0, NULL, .set_by = RUE_SET_BY_FLAG},
    [DEVICES] = {"devices", RUE_OPTION_FLAG, NULL, NULL, "list the devices instead", 0, 0, NULL},
    [NULL_TEST] = {"null-test", RUE_OPTION_FLAG, NULL, NULL,
                   "test instead that nothing but the loader keeps a sleeping model waiting", 0, 0, NULL,
                   .set_by = RUE_SET_BY_FLAG},
    [SLEEP] = {"sleep", RUE_OPTION_LIST, "LIST", NULL,
               "what a batch takes in the null test [13 from 200us to 2s]", 0, 0, NULL,
               .set_by = RUE_SET_BY_FLAG},
    [JSON] = {"json", RUE_OPTION_FLAG, NULL, NULL, "write JSON", 0, 0, NULL},
};

/* What is listed, and how. */
struct page {
    const char *device;                      /* as typed */
    const struct rue_device_table *measured; /* that the device is; NULL: it is one of the catalogue */
    struct rue_space space;
    struct rue_report_style style;
    struct rue_page out;
    json_t *array; /* where `json` */
    bool json;
};

/* ---- models ---- */

static size_t count_models(const struct page *page)
{
    return page->measured ? page->measured->count : rue_catalogue_count();
}

static const char *model_name(const struct page *page, size_t index)
{
    return page->measured ? page->measured->profiles[index].name : rue_catalogue_name(index);
}

static rue_status find(const struct page *page, size_t index, struct rue_profile *out, rue_error *error)
{
    char spec[RUE_MODEL_NAME_BYTES];
    if (snprintf(spec, sizeof spec, "%s@%s", model_name(page, index), page->device) < (int)sizeof spec)
        return rue_device_table_model(spec, out, error);
    return rue_fail(error, RUE_USAGE, "--device: '%.40s...' is too long", page->device);
}

static bool fits(const struct rue_profile *profile, uint64_t images)
{
    return !profile->largest_batch || images <= profile->largest_batch;
}

static void put_model_row(struct page *page, const char *name, const struct rue_profile *profile)
{
    const int *sizes = page->space.values[RUE_BATCH_SIZE];
    const struct rue_architecture *model = rue_architecture_find(name);
    struct rue_page *out = &page->out;
    rue_page_row(out, false);
    rue_put_text(out, name);
    if (model) { /* of others a table has no more than times */
        rue_put_words(out, "%.1f M", (double)model->parameters / 1e6);
        rue_put_words(out, "%.2f G", (double)rue_architecture_multiply_adds(model) / 1e9);
        rue_put_words(out, "%.1f M", (double)model->peak_elements / 1e6);
    } else {
        for (int i = 0; i < 3; i++) rue_put_text(out, "?");
    }
    if (profile->largest_batch)
        rue_put_number(out, (double)profile->largest_batch);
    else
        rue_put_text(out, "?");
    for (int i = 0; i < page->space.count[RUE_BATCH_SIZE]; i++) {
        uint64_t images = (uint64_t)sizes[i];
        rue_put_marked(out, rue_profile_is_measured_at(profile, images) ? 0 : '~',
                       fits(profile, images) ? (double)rue_profile_batch_ns(profile, images) : NAN);
    }
}

static json_t *times_json(struct page *page, const struct rue_profile *profile)
{
    json_t *times = json_array();
    for (int i = 0; i < page->space.count[RUE_BATCH_SIZE]; i++) {
        uint64_t images = (uint64_t)page->space.values[RUE_BATCH_SIZE][i];
        rue_json_push(
            &times,
            rue_json_make("batch_size:n batch_ns:d", images,
                          fits(profile, images) ? (double)rue_profile_batch_ns(profile, images) : NAN));
    }
    return times;
}

static json_t *measured_sizes_json(const struct rue_profile *profile)
{
    json_t *sizes = json_array();
    for (size_t i = 0; profile->measured && i < profile->points; i++)
        rue_json_push(&sizes, rue_json_integer(profile->batch_size[i]));
    return sizes;
}

/* Bytes are those of the device's precision, which a table does not have. */
static void put_model_json(struct page *page, const char *name, const struct rue_profile *profile)
{
    const struct rue_architecture *model = rue_architecture_find(name);
    uint64_t element = page->measured ? 0 : rue_precision_bytes(profile->precision);
    uint64_t parameters = model ? model->parameters : 0, peak = model ? model->peak_elements : 0;
    json_t *object =
        rue_json_make("model:t device:t source:t measured_batch_sizes:o", name, profile->device,
                      profile->measured ? "measured" : "estimated", measured_sizes_json(profile));
    rue_json_put(&object, "parameters", rue_json_integer_or_null(parameters));
    rue_json_put(&object, "multiply_adds",
                 rue_json_integer_or_null(model ? rue_architecture_multiply_adds(model) : 0));
    rue_json_put(&object, "weight_bytes", rue_json_integer_or_null(parameters * element));
    rue_json_put(&object, "peak_activation_elements", rue_json_integer_or_null(peak));
    rue_json_put(&object, "peak_activation_bytes", rue_json_integer_or_null(peak * element));
    rue_json_put(&object, "largest_batch", rue_json_integer_or_null(profile->largest_batch));
    rue_json_put(&object, "times", times_json(page, profile));
    rue_json_push(&page->array, object);
}

static void start_model_table(struct page *page)
{
    static const struct rue_table_column columns[] = {
        {.header = "model"},
        {.header = "parameters", .right = true, .drop = 2},
        {.header = "multiply-adds an image", .right = true, .drop = 1},
        {.header = "activations an image", .right = true, .drop = 1},
        {.header = "largest batch", .unit = RUE_UNIT_COUNT, .drop = 3}};
    rue_page_table(&page->out, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < page->space.count[RUE_BATCH_SIZE]; i++) {
        char header[32];
        snprintf(header, sizeof header, "batch of %d", page->space.values[RUE_BATCH_SIZE][i]);
        rue_page_column(&page->out, (struct rue_table_column){
                                        .header = header, .unit = RUE_UNIT_DURATION, .folds = true});
    }
}

static void put_text(struct page *page, const char *text)
{
    rue_page_sentence(&page->out, RUE_LOOK_PLAIN, 2);
    rue_say(&page->out, "%s", text);
}

/* What a GPU computes is measured, not known beforehand. */
static rue_status check_device(const struct page *page, rue_error *error)
{
    struct rue_profile profile;
    rue_status status = find(page, 0, &profile, error);
    if (status != RUE_OK || profile.consumer != RUE_CONSUMER_CUDA) return status;
    return rue_fail(error, RUE_USAGE,
                    "--device %s: what a batch takes on the GPU at hand is not known before it is measured; "
                    "'rue calibrate MODELS --device %s' does so, and writes a table that can be listed",
                    page->device, page->device);
}

/* Where the times that are listed come from. */
struct origins {
    bool by_line, by_roofline, works;
};

static void explain_estimates(struct page *page, const struct origins *origins)
{
    if (origins->by_line)
        put_text(page,
                 "~: of a measured model, for a batch size outside of those that were measured: on the line "
                 "through the nearest two.");
    if (origins->by_roofline)
        put_text(
            page,
            "~: estimated by a roofline of the device's data sheet. Of the RTX A5000's measured times, to "
            "which it was fitted, it is 5.4 % off (root mean square), 11.6 % at most; of a model that it "
            "was not fitted to, 5.8 % and 13.3 %; of other devices nobody knows.");
}

static bool goes_beyond_measured(const struct page *page, const struct rue_profile *profile)
{
    for (int i = 0; profile->measured && i < page->space.count[RUE_BATCH_SIZE]; i++) {
        uint64_t images = (uint64_t)page->space.values[RUE_BATCH_SIZE][i];
        if (fits(profile, images) && !rue_profile_is_measured_at(profile, images)) return true;
    }
    return false;
}

static rue_status list_models(struct page *page, rue_error *error)
{
    struct origins origins = {0};
    struct rue_profile profile;
    start_model_table(page);
    for (size_t i = 0; i < count_models(page); i++) {
        rue_status status = find(page, i, &profile, error);
        if (status != RUE_OK) return status;
        origins.by_line |= goes_beyond_measured(page, &profile);
        origins.by_roofline |= !profile.measured;
        origins.works |= profile.consumer != RUE_CONSUMER_SLEEP;
        (page->json ? put_model_json : put_model_row)(page, model_name(page, i), &profile);
    }
    rue_page_gap(&page->out);
    explain_estimates(page, &origins);
    if (origins.works)
        put_text(page,
                 "On the host models are computed, and rue tune measures them: these times are those of a "
                 "usual processor.");
    put_text(
        page,
        "Images are of 224 x 224 pixels; bert_base_N counts sequences of N tokens as images. Activations "
        "are elements that are alive at one time.");
    return RUE_OK;
}

/* ---- devices ---- */

static void put_rate(struct rue_page *out, double flops)
{
    if (flops > 0)
        rue_put_words(out, "%.1f T", flops / 1e12);
    else
        rue_put_text(out, "-");
}

static void put_device_row(struct page *page, const struct rue_device *device)
{
    struct rue_page *out = &page->out;
    rue_page_row(out, false);
    rue_put_text(out, device->name);
    rue_put_text(out, device->title);
    for (int p = 0; p < RUE_PRECISION_COUNT; p++) put_rate(out, device->flops[p]);
    put_rate(out, device->convolution_flops);
    rue_put_words(out, "%.0f GB/s", device->memory_bytes_per_s / 1e9);
    rue_put_number(out, (double)device->memory_bytes);
    rue_put_number(out, device->launch_ns);
}

static void put_device_json(struct page *page, const struct rue_device *device)
{
    json_t *rates = json_object();
    for (int p = 0; p < RUE_PRECISION_COUNT; p++)
        rue_json_put(&rates, rue_precision_names[p],
                     rue_json_real(device->flops[p] > 0 ? device->flops[p] : NAN));
    rue_json_push(&page->array, rue_json_make("device:t title:t flops_per_s:o fp32_convolution_flops_per_s:r "
                                              "memory_bytes_per_s:r memory_bytes:n launch_ns:r",
                                              device->name, device->title, rates, device->convolution_flops,
                                              device->memory_bytes_per_s, (uint64_t)device->memory_bytes,
                                              device->launch_ns));
}

static void list_devices(struct page *page)
{
    static const struct rue_table_column columns[] = {
        {.header = "device"},
        {.header = "what it is", .drop = 2},
        {.header = "fp32", .right = true},
        {.header = "fp16", .right = true},
        {.header = "bf16", .right = true},
        {.header = "fp32 convolutions", .right = true, .drop = 1},
        {.header = "bandwidth", .right = true},
        {.header = "memory", .unit = RUE_UNIT_BYTES},
        {.header = "launch", .unit = RUE_UNIT_DURATION, .drop = 1}};
    const struct rue_device *device;
    rue_page_table(&page->out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; (device = rue_device_at(i)); i++)
        (page->json ? put_device_json : put_device_row)(page, device);
    rue_page_gap(&page->out);
    put_text(
        page,
        "Rates are operations a second, of which a multiplication with addition is two; a launch is what "
        "each layer takes however small it is. host:2 computes on two of this machine's CPUs, cuda:bf16 "
        "on its GPU, and FILE.json is what rue calibrate measured.");
}

/* ---- the null test ---- */

static void start_null_table(struct page *page)
{
    static const struct rue_table_column columns[] = {
        {.header = "sleep", .key = "sleep_ns", .unit = RUE_UNIT_DURATION},
        {.header = "batches", .key = "batches", .unit = RUE_UNIT_COUNT},
        {.header = "utilisation", .key = "utilisation_ratio", .unit = RUE_UNIT_PERCENT, .digits = 2},
        {.header = "p99 lateness", .key = "p99_lateness_ns", .unit = RUE_UNIT_DURATION},
        {.header = "verdict"},
        {.key = "passed", .unit = RUE_UNIT_FLAG}};
    rue_page_table(&page->out, columns, sizeof columns / sizeof *columns);
}

static void put_null_row(struct page *page, const struct rue_null_test *test)
{
    struct rue_page *out = &page->out;
    rue_page_row(out, false);
    rue_put_number(out, (double)test->sleep_ns);
    rue_put_number(out, (double)test->batches);
    rue_put_number(out, test->utilisation_ratio);
    rue_put_number(out, (double)test->p99_lateness_ns);
    rue_put_text(out, test->passed ? "passed" : "missed");
    rue_put_number(out, test->passed);
}

static rue_status parse_sleep(const char *word, uint64_t *out, rue_error *error)
{
    const char *end = "?";
    if (rue_parse_duration_ns(word, out, &end) && !*end && *out >= RUE_NS_PER_US && *out <= 60 * RUE_NS_PER_S)
        return RUE_OK;
    return rue_fail(error, RUE_USAGE, "--sleep: '%s' is no time from 1us to 1m, such as 200us,2ms,2s", word);
}

/* Fills the page, and answers RUE_INCONCLUSIVE where a row missed. */
static rue_status test_sleeps(struct page *page, const char *list, rue_error *verdict, rue_error *error)
{
    char copy[1024], *rest = copy;
    size_t rows = 0, missed = 0;
    if (strlen(list) >= sizeof copy || strlen(list) == 0)
        return rue_fail(error, RUE_USAGE, "--sleep: the list is empty or too long");
    snprintf(copy, sizeof copy, "%s", list);
    start_null_table(page);
    for (char *word; (word = rue_word_list_next(&rest)); rows++) {
        uint64_t sleep_ns;
        struct rue_null_test test;
        rue_status status = rows < SLEEPS_MAX
                                ? parse_sleep(word, &sleep_ns, error)
                                : rue_fail(error, RUE_USAGE, "--sleep: more than %d", SLEEPS_MAX);
        if (status == RUE_OK) status = rue_null_test_run(sleep_ns, row_ns, &test, error);
        if (status != RUE_OK) return status;
        missed += !test.passed;
        put_null_row(page, &test);
    }
    json_decref(page->array);
    page->array = rue_table_json(rue_page_last_table(&page->out));
    if (missed == 0) return RUE_OK;
    return rue_fail(
        verdict, RUE_INCONCLUSIVE,
        "%zu of %zu rows are below %.0f %%: this machine keeps so short batches waiting, whatever the "
        "loader does; let nothing else run on it, or simulate longer batches",
        missed, rows, 100 * RUE_NULL_TEST_UTILISATION);
}

static rue_status open_device(struct page *page, struct rue_device_table *table, rue_error *error)
{
    char device[PATH_MAX];
    const char *extras = rue_model_extras(page->device);
    snprintf(device, sizeof device, "%.*s", (int)(extras - page->device), page->device);
    if (!rue_device_is_table(device)) return RUE_OK;
    page->measured = table;
    rue_status status = rue_device_table_read(device, table, error);
    if (status != RUE_OK || table->count) return status;
    return rue_fail(error, RUE_USAGE, "--device: %s has no models; calibrate some", device);
}

static rue_status fill(struct page *page, const struct rue_options *options, rue_error *verdict,
                       rue_error *error)
{
    const char *sleeps = rue_options_text(options, SLEEP);
    if (rue_options_flag(options, NULL_TEST))
        return test_sleeps(page, sleeps ? sleeps : usual_sleeps, verdict, error);
    if (sleeps)
        return rue_fail(error, RUE_USAGE,
                        "--sleep: is of the null test; give --null-test, too, or leave it out");
    if (rue_options_flag(options, DEVICES)) return list_devices(page), RUE_OK;
    rue_status status = check_device(page, error);
    return status == RUE_OK ? list_models(page, error) : status;
}

static rue_status run_models(const struct rue_options *options, rue_error *error)
{
    bool json = rue_options_flag(options, JSON);
    struct page page = {.device = rue_options_text(options, DEVICE),
                        .space = rue_space_default(&rue_own_knobs),
                        .style = rue_terminal_style(stdout, 0),
                        .json = json,
                        .array = json_array()};
    rue_status status =
        rue_knob_list_parse(&page.space, RUE_BATCH_SIZE, rue_options_text(options, BATCH_SIZE),
                            rue_options_origin(options, BATCH_SIZE), error);
    if (status == RUE_OK && page.space.count[RUE_BATCH_SIZE] > SIZES_MAX)
        status = rue_fail(error, RUE_USAGE, "--batch-size: more than %d values", SIZES_MAX);
    struct rue_device_table *measured = malloc(sizeof *measured);
    rue_error verdict = {0};
    if (status == RUE_OK && !measured) status = rue_fail_memory(error, "the list", sizeof *measured);
    if (status == RUE_OK) status = open_device(&page, measured, error);
    if (status == RUE_OK) status = fill(&page, options, &verdict, error);
    if (status == RUE_INCONCLUSIVE) status = RUE_OK;
    if (status == RUE_OK)
        status = json ? rue_json_write(json_incref(page.array), stdout, error)
                      : rue_page_write(&page.out, &page.style, stdout, error);
    if (status == RUE_OK && verdict.status != RUE_OK)
        status = rue_fail(error, verdict.status, "%s", verdict.message);
    json_decref(page.array);
    rue_page_close(&page.out);
    free(measured);
    return status;
}

const struct rue_command rue_command_models = {
    .name = "models",
    .arguments = "",
    .summary = "List the models that are simulated, and what a batch takes on a device.",
    .details =
        "  rue models\n"
        "  rue models --device h100:bf16 --batch-size 32,256\n"
        "  rue models --devices\n"
        "  rue models --null-test\n\n"
        "The null test loads what takes no time, and sleeps: its utilisation is the time that the batches\n"
        "take over the time from the first batch to the end. Exit code 5: some of it is below 99 %.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .min_arguments = 0,
    .max_arguments = 0,
    .run = run_models,
};
