/* Loads every image of a folder or tensor file once, with the configuration that rue recommends for it:
 *
 *   cc load_images.c $(pkg-config --cflags --libs rue jansson) -o load_images
 *   ./load_images photos/ rue-out/photos/recommendation.json */
#include <jansson.h>
#include <rue/rue.h>
#include <string.h>

static int fail(const char *why)
{
    return fprintf(stderr, "%s\n", why), 1;
}

int main(int argc, char **argv)
{
    rue_error error = {0};
    struct rue_source *source;
    struct rue_loader *loader;
    struct rue_batch *batch;
    if (argc != 3) return fail("usage: load_images DATA RECOMMENDATION");
    if (rue_source_open(argv[1], NULL, &source, &error) != RUE_OK) return fail(error.message);

    json_t *report = json_load_file(argv[2], 0, NULL), *best, *wanted = NULL;
    const char *mode = rue_mode_names[rue_source_variant(source).mode];
    size_t i;
    json_array_foreach(json_object_get(report, "recommendations"), i, best)
    {
        const char *its = json_string_value(json_object_get(json_object_get(best, "variant"), "mode"));
        if (its && strcmp(its, mode) == 0) wanted = best;
    }
    if (!wanted || !json_is_object(json_object_get(wanted, "config")))
        return fail("no recommendation for such data in that file");
    struct rue_config config = rue_config_default();
    for (int k = 0; k < RUE_KNOB_COUNT; k++) {
        const json_t *value = json_object_get(json_object_get(wanted, "config"), rue_knobs[k].name);
        if (json_is_boolean(value)) config.value[k] = json_is_true(value);
        if (json_is_integer(value)) config.value[k] = (int)json_integer_value(value);
        if (json_is_string(value)) rue_knob_parse(k, json_string_value(value), &config.value[k]);
    }
    bool fast = strcmp(json_string_value(json_object_get(wanted, "decode")), "fast") == 0;
    const char *type = json_string_value(json_object_get(wanted, "batch_dtype"));
    bool levels = type && strcmp(type, "uint8") == 0; /* to be normalised here: see rue_transform_normalize */
    json_decref(report);

    const struct rue_loader_options options = {
        .config = config,
        .sampler = {.seed = 1, .shuffle = true, .world_size = 1},
        .images = rue_source_count(source), /* one epoch */
        .fetcher = {.dtype = levels ? RUE_UINT8 : RUE_FLOAT32,
                    .max_pixels = RUE_MAX_PIXELS_DEFAULT,
                    .decode = fast ? RUE_DECODE_FAST : RUE_DECODE_EXACT},
        .held = 1,
    };
    if (rue_loader_open(source, &options, &loader, &error) != RUE_OK) return fail(error.message);
    if (rue_loader_start(loader, &error) != RUE_OK) return fail(error.message);
    size_t images = 0;
    for (;; rue_loader_release(loader, batch)) {
        if (rue_loader_next(loader, &batch, &error) != RUE_OK) return fail(error.message);
        if (!batch) break;
        images += batch->count; /* batch->images: count x 3 x 224 x 224, batch->labels: count x int32 */
    }
    rue_loader_close(loader);
    rue_source_close(source);
    printf("%zu images in batches of %d\n", images, config.value[RUE_BATCH_SIZE]);
}
