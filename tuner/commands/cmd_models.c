#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
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
#include "terminal.h"
#include "text_table.h"
#include "units.h"
#include "word_list.h"
#include "wrap.h"

enum { DEVICE, BATCH_SIZE, DEVICES, NULL_TEST, SLEEP, JSON };

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
    int first_size, size_count; /* of the space's batch sizes, those that the table shows */
    struct rue_report_style style;
    struct rue_text_table *table;
    struct rue_json_document document;
    json_t *array; /* NULL: a table is made */
};

/* The longest name of the catalogue, and the longest time. */
enum { NAME_COLUMNS = 17, TIME_COLUMNS = 8 };

enum { NAME, PARAMETERS, MULTIPLY_ADDS, ACTIVATIONS, LARGEST, FIRST_TIME };

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

/* What is known of a model whose layers are: of others a table tells no more than times. */
static void put_architecture(struct rue_text_table *table, const struct rue_architecture *model)
{
    if (!model) {
        for (int column = PARAMETERS; column <= ACTIVATIONS; column++)
            rue_text_table_cell(table, column, "?");
        return;
    }
    rue_text_table_cell(table, PARAMETERS, "%.1f M", (double)model->parameters / 1e6);
    rue_text_table_cell(table, MULTIPLY_ADDS, "%.2f G", (double)rue_architecture_multiply_adds(model) / 1e9);
    rue_text_table_cell(table, ACTIVATIONS, "%.1f M", (double)model->peak_elements / 1e6);
}

static void put_model_row(struct page *page, const char *name, const struct rue_profile *profile)
{
    const int *sizes = page->space.values[RUE_BATCH_SIZE] + page->first_size;
    char text[RUE_UNIT_TEXT_BYTES];
    struct rue_text_table *table = page->table;
    if (!rue_text_table_row(table, false)) return;
    rue_text_table_cell(table, NAME, "%s", name);
    put_architecture(table, rue_architecture_find(name));
    rue_text_table_cell(table, LARGEST, "%s",
                        profile->largest_batch ? rue_format_count(profile->largest_batch, text, sizeof text)
                                               : "?");
    for (int i = 0; i < page->size_count; i++) {
        uint64_t images = (uint64_t)sizes[i];
        if (!fits(profile, images))
            rue_text_table_cell(table, FIRST_TIME + i, "-");
        else
            rue_text_table_cell(
                table, FIRST_TIME + i, "%s%s", rue_profile_is_measured_at(profile, images) ? "" : "~",
                rue_format_duration(rue_profile_batch_ns(profile, images), text, sizeof text));
    }
}

static json_t *times_json(struct page *page, const struct rue_profile *profile)
{
    struct rue_json_document *document = &page->document;
    json_t *times = json_array();
    for (int i = 0; i < page->space.count[RUE_BATCH_SIZE]; i++) {
        uint64_t images = (uint64_t)page->space.values[RUE_BATCH_SIZE][i];
        json_t *time = json_object();
        rue_json_put(document, time, "batch_size", rue_json_integer(images));
        rue_json_put(document, time, "batch_ns",
                     fits(profile, images) ? rue_json_integer(rue_profile_batch_ns(profile, images))
                                           : json_null());
        rue_json_push(document, times, time);
    }
    return times;
}

static json_t *measured_sizes_json(struct page *page, const struct rue_profile *profile)
{
    json_t *sizes = json_array();
    for (size_t i = 0; profile->measured && i < profile->points; i++)
        rue_json_push(&page->document, sizes, rue_json_integer(profile->batch_size[i]));
    return sizes;
}

/* Bytes are those of the device's precision, which a table does not tell. */
static void put_architecture_json(struct page *page, json_t *object, const char *name,
                                  const struct rue_profile *profile)
{
    struct rue_json_document *document = &page->document;
    const struct rue_architecture *model = rue_architecture_find(name);
    uint64_t element = page->measured ? 0 : rue_precision_bytes(profile->precision);
    uint64_t parameters = model ? model->parameters : 0, peak = model ? model->peak_elements : 0;
    rue_json_put(document, object, "parameters", rue_json_integer_or_null(parameters));
    rue_json_put(document, object, "multiply_adds",
                 rue_json_integer_or_null(model ? rue_architecture_multiply_adds(model) : 0));
    rue_json_put(document, object, "weight_bytes", rue_json_integer_or_null(parameters * element));
    rue_json_put(document, object, "peak_activation_elements", rue_json_integer_or_null(peak));
    rue_json_put(document, object, "peak_activation_bytes", rue_json_integer_or_null(peak * element));
}

static void put_model_json(struct page *page, const char *name, const struct rue_profile *profile)
{
    struct rue_json_document *document = &page->document;
    json_t *object = json_object();
    rue_json_put(document, object, "model", rue_json_text(name));
    rue_json_put(document, object, "device", rue_json_text(profile->device));
    rue_json_put(document, object, "source", rue_json_text(profile->measured ? "measured" : "estimated"));
    rue_json_put(document, object, "measured_batch_sizes", measured_sizes_json(page, profile));
    put_architecture_json(page, object, name, profile);
    rue_json_put(document, object, "largest_batch", rue_json_integer_or_null(profile->largest_batch));
    rue_json_put(document, object, "times", times_json(page, profile));
    rue_json_push(document, page->array, object);
}

static void start_model_table(struct page *page)
{
    static const struct rue_text_column columns[] = {[NAME] = {"model", false, 0, 0},
                                                     [PARAMETERS] = {"parameters", true, 0, 2},
                                                     [MULTIPLY_ADDS] = {"multiply-adds an image", true, 0, 1},
                                                     [ACTIVATIONS] = {"activations an image", true, 0, 1},
                                                     [LARGEST] = {"largest batch", true, 0, 3}};
    rue_text_table_clear(page->table, page->style.unicode);
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        rue_text_table_column(page->table, columns[c]);
    for (int i = 0; i < page->size_count; i++) {
        struct rue_text_column column = {.right = true};
        snprintf(column.header, sizeof column.header, "batch of %d",
                 page->space.values[RUE_BATCH_SIZE][page->first_size + i]);
        rue_text_table_column(page->table, column);
    }
}

static void put_text(const struct page *page, const char *text)
{
    rue_wrap(stdout, text, page->style.columns, 2);
    putchar('\n');
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

static void explain_estimates(const struct page *page, const struct origins *origins)
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

/* All models with the batch sizes that the table shows. */
static rue_status list_sizes(struct page *page, struct origins *origins, rue_error *error)
{
    struct rue_profile profile;
    start_model_table(page);
    for (size_t i = 0; i < count_models(page); i++) {
        rue_status status = find(page, i, &profile, error);
        if (status != RUE_OK) return status;
        origins->by_line |= goes_beyond_measured(page, &profile);
        origins->by_roofline |= !profile.measured;
        origins->works |= profile.consumer != RUE_CONSUMER_SLEEP;
        (page->array ? put_model_json : put_model_row)(page, model_name(page, i), &profile);
    }
    if (page->array) return RUE_OK;
    rue_text_table_print(page->table, &page->style, stdout);
    putchar('\n');
    return RUE_OK;
}

static rue_status list_models(struct page *page, rue_error *error)
{
    struct origins origins = {0};
    int all = page->space.count[RUE_BATCH_SIZE];
    int row = page->array ? all : rue_text_table_fitting(&page->style, NAME_COLUMNS, TIME_COLUMNS, all);
    for (page->first_size = 0; page->first_size < all; page->first_size += row) {
        page->size_count = all - page->first_size < row ? all - page->first_size : row;
        rue_status status = list_sizes(page, &origins, error);
        if (status != RUE_OK) return status;
    }
    if (page->array) return RUE_OK;
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

static void put_rate(struct rue_text_table *table, int column, double flops)
{
    if (flops > 0)
        rue_text_table_cell(table, column, "%.1f T", flops / 1e12);
    else
        rue_text_table_cell(table, column, "-");
}

static void put_device_row(struct page *page, const struct rue_device *device)
{
    char text[RUE_UNIT_TEXT_BYTES];
    if (!rue_text_table_row(page->table, false)) return;
    rue_text_table_cell(page->table, 0, "%s", device->name);
    rue_text_table_cell(page->table, 1, "%s", device->title);
    for (int p = 0; p < RUE_PRECISION_COUNT; p++) put_rate(page->table, 2 + p, device->flops[p]);
    put_rate(page->table, 5, device->convolution_flops);
    rue_text_table_cell(page->table, 6, "%.0f GB/s", device->memory_bytes_per_s / 1e9);
    rue_text_table_cell(page->table, 7, "%s", rue_format_bytes(device->memory_bytes, text, sizeof text));
    rue_text_table_cell(page->table, 8, "%s",
                        rue_format_duration((uint64_t)device->launch_ns, text, sizeof text));
}

static void put_device_json(struct page *page, const struct rue_device *device)
{
    struct rue_json_document *document = &page->document;
    json_t *object = json_object(), *rates = json_object();
    rue_json_put(document, object, "device", rue_json_text(device->name));
    rue_json_put(document, object, "title", rue_json_text(device->title));
    for (int p = 0; p < RUE_PRECISION_COUNT; p++)
        rue_json_put(document, rates, rue_precision_names[p],
                     device->flops[p] > 0 ? rue_json_real(device->flops[p]) : json_null());
    rue_json_put(document, object, "flops_per_s", rates);
    rue_json_put(document, object, "fp32_convolution_flops_per_s", rue_json_real(device->convolution_flops));
    rue_json_put(document, object, "memory_bytes_per_s", rue_json_real(device->memory_bytes_per_s));
    rue_json_put(document, object, "memory_bytes", rue_json_integer(device->memory_bytes));
    rue_json_put(document, object, "launch_ns", rue_json_real(device->launch_ns));
    rue_json_push(document, page->array, object);
}

static void list_devices(struct page *page)
{
    static const struct rue_text_column columns[] = {
        {"device", false, 0, 0},   {"what it is", false, 0, 2}, {"fp32", true, 0, 0},
        {"fp16", true, 0, 0},      {"bf16", true, 0, 0},        {"fp32 convolutions", true, 0, 1},
        {"bandwidth", true, 0, 0}, {"memory", true, 0, 0},      {"launch", true, 0, 1}};
    const struct rue_device *device;
    rue_text_table_clear(page->table, page->style.unicode);
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        rue_text_table_column(page->table, columns[c]);
    for (size_t i = 0; (device = rue_device_at(i)); i++) {
        if (page->array)
            put_device_json(page, device);
        else
            put_device_row(page, device);
    }
    if (page->array) return;
    rue_text_table_print(page->table, &page->style, stdout);
    putchar('\n');
    put_text(
        page,
        "Rates are operations a second, of which a multiplication with addition is two; a launch is what "
        "each layer takes however small it is. host:2 computes on two of this machine's CPUs, cuda:bf16 "
        "on its GPU, and FILE.json is what rue calibrate measured.");
}

/* ---- the null test ---- */

static const char *format_ratio(double ratio, char *out, size_t bytes)
{
    snprintf(out, bytes, "%.2f %%", 100 * ratio);
    return out;
}

static void put_null_row(struct page *page, const struct rue_null_test *test)
{
    char text[RUE_UNIT_TEXT_BYTES];
    struct rue_text_table *table = page->table;
    if (!rue_text_table_row(table, false)) return;
    rue_text_table_cell(table, 0, "%s", rue_format_duration(test->sleep_ns, text, sizeof text));
    rue_text_table_cell(table, 1, "%zu", test->batches);
    rue_text_table_cell(table, 2, "%s", format_ratio(test->utilisation_ratio, text, sizeof text));
    rue_text_table_cell(table, 3, "%s", rue_format_duration(test->p99_lateness_ns, text, sizeof text));
    rue_text_table_cell(table, 4, "%s", test->passed ? "passed" : "missed");
}

static void put_null_json(struct page *page, const struct rue_null_test *test)
{
    struct rue_json_document *document = &page->document;
    json_t *object = json_object();
    rue_json_put(document, object, "sleep_ns", rue_json_integer(test->sleep_ns));
    rue_json_put(document, object, "batches", rue_json_integer(test->batches));
    rue_json_put(document, object, "utilisation_ratio", rue_json_real(test->utilisation_ratio));
    rue_json_put(document, object, "p99_lateness_ns", rue_json_integer(test->p99_lateness_ns));
    rue_json_put(document, object, "passed", json_boolean(test->passed));
    rue_json_push(document, page->array, object);
}

static void start_null_table(struct page *page)
{
    static const char *const headers[] = {"sleep", "batches", "utilisation", "p99 lateness", "verdict"};
    rue_text_table_clear(page->table, page->style.unicode);
    for (size_t c = 0; c < sizeof headers / sizeof *headers; c++) {
        struct rue_text_column column = {.right = c < 4};
        snprintf(column.header, sizeof column.header, "%s", headers[c]);
        rue_text_table_column(page->table, column);
    }
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
        rue_status status = rows < RUE_TEXT_TABLE_ROWS
                                ? parse_sleep(word, &sleep_ns, error)
                                : rue_fail(error, RUE_USAGE, "--sleep: more than %d", RUE_TEXT_TABLE_ROWS);
        if (status == RUE_OK) status = rue_null_test_run(sleep_ns, row_ns, &test, error);
        if (status != RUE_OK) return status;
        missed += !test.passed;
        (page->array ? put_null_json : put_null_row)(page, &test);
    }
    if (!page->array) rue_text_table_print(page->table, &page->style, stdout);
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

static rue_status run(const struct rue_options *options, rue_error *error)
{
    bool json = rue_options_flag(options, JSON);
    struct page page = {.device = rue_options_text(options, DEVICE),
                        .space = rue_space_default(&rue_own_knobs),
                        .style = rue_terminal_style(stdout, 0),
                        .table = calloc(1, sizeof *page.table),
                        .array = json ? json_array() : NULL};
    rue_status status =
        rue_knob_list_parse(&page.space, RUE_BATCH_SIZE, rue_options_text(options, BATCH_SIZE),
                            rue_options_origin(options, BATCH_SIZE), error);
    if (status == RUE_OK && page.space.count[RUE_BATCH_SIZE] > RUE_TEXT_TABLE_COLUMNS - FIRST_TIME)
        status = rue_fail(error, RUE_USAGE, "--batch-size: more than %d values",
                          RUE_TEXT_TABLE_COLUMNS - FIRST_TIME);
    struct rue_device_table *measured = malloc(sizeof *measured);
    rue_error verdict = {0};
    if (status == RUE_OK && (!page.table || !measured || (json && !page.array)))
        status = rue_fail_memory(error, "the list", sizeof *page.table);
    if (status == RUE_OK) status = open_device(&page, measured, error);
    if (status == RUE_OK) status = fill(&page, options, &verdict, error);
    if (status == RUE_INCONCLUSIVE) status = RUE_OK;
    if (status == RUE_OK && json) status = rue_json_write(&page.document, page.array, stdout, error);
    if (status == RUE_OK) status = rue_report_finish(stdout, error);
    if (status == RUE_OK && verdict.status != RUE_OK)
        status = rue_fail(error, verdict.status, "%s", verdict.message);
    json_decref(page.array);
    free(page.table);
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
    .run = run,
};
