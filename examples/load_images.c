/* Loads every image of a folder or tensor file once, with the configuration that rue recommends for it:
 *
 *   cc load_images.c $(pkg-config --cflags --libs rue jansson) -o load_images
 *   ./load_images photos/ rue-out/photos/recommendation.json */
#include <jansson.h>
#include <limits.h>
#include <rue/rue.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(1);
}

/* The index of the word at `key`; 0, the default, if there is none. */
static int read_word(const json_t *object, const char *key, const char *const *words)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!json_object_get(object, key)) return 0;
    for (int i = 0; text && words[i]; i++)
        if (strcmp(words[i], text) == 0) return i;
    fail("the recommendation contains a word that this program does not know");
}

/* The value of a knob; `usual` if it is absent. */
static int read_number(const json_t *config, const char *knob, int least, int usual)
{
    const json_t *value = json_object_get(config, knob);
    json_int_t number = json_integer_value(value);
    if (!value) return usual;
    if (!json_is_integer(value) || number < least || number > INT_MAX)
        fail("the recommendation contains a number that is out of range");
    return (int)number;
}

int main(int argc, char **argv)
{
    rue_error error = {0};
    struct rue_source *source;
    struct rue_loader *loader;
    struct rue_batch *batch;
    if (argc != 3) fail("usage: load_images DATA RECOMMENDATION");
    if (rue_source_open(argv[1], NULL, &source, &error) != RUE_OK) fail(error.message);

    json_t *report = json_load_file(argv[2], 0, NULL), *best, *chosen = NULL;
    const char *mode = rue_mode_names[rue_source_variant(source).mode];
    size_t i;
    json_array_foreach(json_object_get(report, "recommendations"), i, best)
    {
        const char *its = json_string_value(json_object_get(json_object_get(best, "variant"), "mode"));
        if (its && strcmp(its, mode) == 0) chosen = best;
    }
    if (!json_is_object(json_object_get(chosen, "config")))
        fail("the file has no recommendation for this kind of data (raw or preprocessed)");
    const json_t *config = json_object_get(chosen, "config");
    int decode = read_word(chosen, "decode", rue_decode_names);
    /* Normalise uint8 batches before use: see rue_transform_convert. */
    int dtype = read_word(chosen, "batch_dtype", rue_dtype_names);
    /* Measured with --transform train: each epoch has other random crops: see rue_loader_rewind. */
    const char *augment = json_string_value(json_object_get(json_object_get(chosen, "workload"), "augment"));
    struct rue_views views;
    if (augment && rue_views_parse(augment, &views, &error) != RUE_OK) fail(error.message);

    const struct rue_loader_options options = {
        .batch_size = read_number(config, "batch_size", 1, 32),
        .num_workers = read_number(config, "num_workers", 0, 0),
        .prefetch_factor = read_number(config, "prefetch_factor", 1, 2),
        .parallelism = read_word(config, "parallelism", rue_parallelism_names),
        .max_queue_size = read_number(config, "max_queue_size", 0, 0),
        .batch_strategy = read_word(config, "batch_strategy", rue_batch_strategy_names),
        .sampler = {.seed = 1, .shuffle = true, .world_size = 1},
        .images = rue_source_count(source), /* of an epoch */
        .fetcher = {.dtype = dtype,
                    .max_pixels = RUE_MAX_PIXELS_DEFAULT,
                    .decode = decode,
                    .views = augment ? &views : NULL,
                    .seed = 1,
                    .read = read_word(config, "read", rue_read_names)},
        .max_held = 1,
    };
    json_decref(report);
    if (rue_loader_open(source, &options, &loader, &error) != RUE_OK) fail(error.message);
    size_t images = 0;
    for (;; rue_loader_release(loader, batch)) {
        if (rue_loader_next(loader, &batch, &error) != RUE_OK) fail(error.message);
        if (!batch) break;
        images += batch->count; /* batch->images: count x 3 x 224 x 224, batch->labels: count x int32 */
    }
    rue_loader_close(loader);
    rue_source_close(source);
    printf("%zu images in batches of %d\n", images, options.batch_size);
}
