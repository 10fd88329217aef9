#include "model_list.h"

#include <math.h>
#include <stdio.h>

#include "architecture.h"
#include "catalogue.h"
#include "program_name.h"

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
                    "'%s calibrate %s --device %s' writes device.json, to list with --device device.json",
                    list->device, rue_program_name(), model_name(list, index), list->device);
}

static bool has_times(const struct rue_profile *profile)
{
    return profile->points || profile->per_batch_ns > 0 || profile->per_image_ns > 0;
}

static bool fits(const struct rue_profile *profile, uint64_t images)
{
    return !profile->largest_batch || images <= profile->largest_batch;
}

/* 0: unknown. */
static double known(uint64_t number)
{
    return number ? (double)number : NAN;
}

static void put_size(const struct rue_profile *profile, int batch_size, struct rue_page *page)
{
    char header[32];
    uint64_t images = (uint64_t)batch_size;
    bool measured = rue_profile_is_measured_at(profile, images);
    double ns = fits(profile, images) ? (double)rue_profile_batch_ns(profile, images) : NAN;
    snprintf(header, sizeof header, "batch of %d", batch_size);
    const struct rue_table_column columns[] = {
        {"batch_size", NULL, RUE_UNIT_COUNT, .number = batch_size, .listed = true},
        {"batch_ns", header, RUE_UNIT_DURATION, .number = ns, .mark = measured ? 0 : '~', .folds = true,
         .listed = true},
        {"measured", NULL, RUE_UNIT_FLAG, .number = measured, .listed = true},
    };
    rue_page_put(page, columns, sizeof columns / sizeof *columns);
}

/* Bytes need the device's precision, which a device table does not have. */
static void put_model_row(const struct rue_model_list *list, const char *name,
                          const struct rue_profile *profile, struct rue_page *page)
{
    static const struct rue_architecture unknown;
    const struct rue_architecture *found = rue_architecture_find(name), *model = found ? found : &unknown;
    uint64_t element = list->measured ? 0 : rue_precision_bytes(profile->precision),
             multiply_adds = rue_architecture_multiply_adds(model);
    const struct rue_table_column row[] = {
        {"model", "model", .text = name},
        {"device", .text = profile->device},
        {"parameters", "parameters", RUE_UNIT_SCALED, .number = known(model->parameters), .drop = 2},
        {"multiply_adds", "multiply-adds per image", RUE_UNIT_SCALED, .number = known(multiply_adds),
         .drop = 1},
        {"weight_bytes", NULL, RUE_UNIT_COUNT, .number = known(model->parameters * element)},
        {"peak_activation_elements", "activations per image", RUE_UNIT_SCALED,
         .number = known(model->peak_elements), .drop = 1},
        {"peak_activation_bytes", NULL, RUE_UNIT_COUNT, .number = known(model->peak_elements * element)},
        {"largest_batch", "largest batch", RUE_UNIT_COUNT, .number = known(profile->largest_batch),
         .drop = 3},
    };
    rue_page_row(page, false, row, sizeof row / sizeof *row);
    for (size_t i = 0; i < list->batch_size_count; i++) put_size(profile, list->batch_sizes[i], page);
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

rue_status rue_model_list_read_sizes(const struct rue_options *options, struct rue_space *space,
                                     rue_error *error)
{
    *space = rue_space_default(&rue_own_knobs);
    rue_status status = rue_knob_list_parse(space, RUE_BATCH_SIZE, rue_options_text(options, "batch-size"),
                                            rue_options_origin(options, "batch-size"), error);
    if (status != RUE_OK || space->count[RUE_BATCH_SIZE] <= RUE_MODEL_LIST_SIZES_MAX) return status;
    return rue_fail(error, RUE_USAGE, "--batch-size: more than %d values: give fewer",
                    RUE_MODEL_LIST_SIZES_MAX);
}

rue_status rue_model_list_put(const struct rue_model_list *list, struct rue_page *page, rue_error *error)
{
    struct origins origins = {0};
    struct rue_profile profile;
    rue_page_table(page);
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
