#include "model_list.h"

#include <math.h>
#include <stdio.h>

#include "architecture.h"
#include "catalogue.h"

static size_t count_models(const struct rue_model_list *list)
{
    return list->measured ? list->measured->count : rue_catalogue_count();
}

static const char *model_name(const struct rue_model_list *list, size_t index)
{
    return list->measured ? list->measured->profiles[index].name : rue_catalogue_name(index);
}

static rue_status find_profile(const struct rue_model_list *list, size_t index, struct rue_profile *out,
                               rue_error *error)
{
    char spec[RUE_MODEL_NAME_BYTES];
    if (list->measured) return *out = list->measured->profiles[index], RUE_OK;
    if (snprintf(spec, sizeof spec, "%s@%s", model_name(list, index), list->device) >= (int)sizeof spec)
        return rue_fail(error, RUE_USAGE, "--device: '%.40s...' is too long", list->device);
    rue_status status = rue_catalogue_find(spec, out, error);
    if (status != RUE_OK || out->consumer != RUE_CONSUMER_CUDA) return status;
    return rue_fail(error, RUE_USAGE,
                    "--device %s: batch times of this machine's GPU are unknown before they are measured: "
                    "'rue calibrate MODELS --device %s' writes a table of them, to list with --device FILE",
                    list->device, list->device);
}

static bool has_times(const struct rue_profile *profile)
{
    return profile->points || profile->per_batch_ns > 0 || profile->per_image_ns > 0;
}

static bool fits(const struct rue_profile *profile, uint64_t images)
{
    return !profile->largest_batch || images <= profile->largest_batch;
}

static void put_columns(const struct rue_model_list *list, struct rue_page *page)
{
    static const struct rue_table_column columns[] = {
        {.header = "model", .key = "model"},
        {.key = "device"},
        {.header = "parameters", .unit = RUE_UNIT_SCALED, .drop = 2, .key = "parameters"},
        {.header = "multiply-adds per image", .unit = RUE_UNIT_SCALED, .drop = 1, .key = "multiply_adds"},
        {.unit = RUE_UNIT_COUNT, .key = "weight_bytes"},
        {.header = "activations per image",
         .unit = RUE_UNIT_SCALED,
         .drop = 1,
         .key = "peak_activation_elements"},
        {.unit = RUE_UNIT_COUNT, .key = "peak_activation_bytes"},
        {.header = "largest batch", .unit = RUE_UNIT_COUNT, .drop = 3, .key = "largest_batch"}};
    rue_page_table(page, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < list->batch_size_count; i++) {
        char header[32];
        snprintf(header, sizeof header, "batch of %d", list->batch_sizes[i]);
        const struct rue_table_column size_columns[] = {
            {.unit = RUE_UNIT_COUNT, .key = "batch_size", .listed = true},
            {.header = header, .unit = RUE_UNIT_DURATION, .folds = true, .key = "batch_ns", .listed = true},
            {.unit = RUE_UNIT_FLAG, .key = "measured", .listed = true}};
        for (size_t c = 0; c < sizeof size_columns / sizeof *size_columns; c++)
            rue_page_column(page, size_columns[c]);
    }
}

/* 0: unknown. */
static void put_known(struct rue_page *page, uint64_t number)
{
    rue_put_number(page, number ? (double)number : NAN);
}

/* Bytes need the device's precision, which a device table does not have. */
static void put_model_row(const struct rue_model_list *list, const char *name,
                          const struct rue_profile *profile, struct rue_page *page)
{
    static const struct rue_architecture unknown;
    const struct rue_architecture *found = rue_architecture_find(name), *model = found ? found : &unknown;
    uint64_t element = list->measured ? 0 : rue_precision_bytes(profile->precision);
    rue_page_row(page, false);
    rue_put_text(page, name);
    rue_put_text(page, profile->device);
    put_known(page, model->parameters);
    put_known(page, rue_architecture_multiply_adds(model));
    put_known(page, model->parameters * element);
    put_known(page, model->peak_elements);
    put_known(page, model->peak_elements * element);
    put_known(page, profile->largest_batch);
    for (size_t i = 0; i < list->batch_size_count; i++) {
        uint64_t images = (uint64_t)list->batch_sizes[i];
        bool measured = rue_profile_is_measured_at(profile, images);
        rue_put_number(page, (double)images);
        rue_put_marked(page, measured ? 0 : '~',
                       fits(profile, images) ? (double)rue_profile_batch_ns(profile, images) : NAN);
        rue_put_number(page, measured);
    }
}

/* The sources of the listed times, to be explained below the table. */
struct origins {
    bool interpolated, estimated, on_host;
};

static void note_origins(const struct rue_model_list *list, const struct rue_profile *profile,
                         struct origins *origins)
{
    origins->estimated |= !profile->measured;
    origins->on_host |= profile->consumer != RUE_CONSUMER_SLEEP;
    for (size_t i = 0; profile->measured && i < list->batch_size_count; i++) {
        uint64_t images = (uint64_t)list->batch_sizes[i];
        origins->interpolated |= fits(profile, images) && !rue_profile_is_measured_at(profile, images);
    }
}

static void put_text(struct rue_page *page, const char *text)
{
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    rue_say(page, "%s", text);
}

static void explain(const struct origins *origins, struct rue_page *page)
{
    rue_page_gap(page);
    if (origins->interpolated)
        put_text(page,
                 "~: this batch size was not measured: its time lies on the line through the nearest two "
                 "measured sizes.");
    if (origins->estimated)
        put_text(
            page,
            "~: estimated with a roofline from the device's data sheet. The roofline was fitted to measured "
            "times of the RTX A5000: the error there is 5.4 % (root mean square), at most 11.6 %. For "
            "models left out of the fit it is 5.8 %, at most 13.3 %. Accuracy on other devices is unknown.");
    if (origins->on_host)
        put_text(page,
                 "On the host, models are computed and rue tune measures them. These times are those of a "
                 "typical processor.");
    put_text(page,
             "Images have 224 x 224 pixels; bert_base_N counts sequences of N tokens as images. Activations "
             "are the most elements in memory at one time.");
}

rue_status rue_model_list_put(const struct rue_model_list *list, struct rue_page *page, rue_error *error)
{
    struct origins origins = {0};
    struct rue_profile profile;
    put_columns(list, page);
    for (size_t i = 0; i < count_models(list); i++) {
        rue_status status = find_profile(list, i, &profile, error);
        if (status != RUE_OK) return status;
        if (!has_times(&profile)) continue;
        note_origins(list, &profile, &origins);
        put_model_row(list, model_name(list, i), &profile, page);
    }
    explain(&origins, page);
    return RUE_OK;
}
