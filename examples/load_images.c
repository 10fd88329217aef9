/* Loads every image of a folder or tensor file once with librue and prints how fast that went.
 *
 *   cc load_images.c $(pkg-config --cflags --libs rue) -o load_images && ./load_images DATA BATCH_SIZE
 * NUM_WORKERS */
#include <rue/rue.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int fail(const rue_error *error)
{
    fprintf(stderr, "%s\n", error->message);
    return 1;
}

int main(int argc, char **argv)
{
    rue_error error = {0};
    struct rue_source *source;
    struct rue_loader *loader;
    struct rue_batch *batch;
    struct timespec start, end;
    if (argc != 4) return fprintf(stderr, "usage: load_images DATA BATCH_SIZE NUM_WORKERS\n"), 2;
    if (rue_source_open(argv[1], NULL, &source, &error) != RUE_OK) return fail(&error);
    struct rue_loader_options options = {
        .config = rue_config_default(),
        .sampler = {.seed = 1, .shuffle = true, .world_size = 1},
        .images = rue_source_count(source),
        .fetcher = {.dtype = RUE_FLOAT32, .max_pixels = RUE_MAX_PIXELS_DEFAULT},
        .held = 1,
    };
    if (!rue_knob_parse(RUE_BATCH_SIZE, argv[2], &options.config.value[RUE_BATCH_SIZE]) ||
        !rue_knob_parse(RUE_NUM_WORKERS, argv[3], &options.config.value[RUE_NUM_WORKERS]))
        return fprintf(stderr, "BATCH_SIZE and NUM_WORKERS are whole numbers\n"), 2;
    if (rue_loader_open(source, &options, &loader, &error) != RUE_OK) return fail(&error);
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (rue_loader_start(loader, &error) != RUE_OK) return fail(&error);
    size_t images = 0;
    for (;;) {
        if (rue_loader_next(loader, &batch, &error) != RUE_OK) return fail(&error);
        if (!batch) break;
        images +=
            batch->count; /* batch->images: count x 3 x 224 x 224 float32; batch->labels: count x int32 */
        rue_loader_release(loader, batch);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    printf("%zu images, %.0f a second\n", images, (double)images / seconds);
    rue_loader_close(loader);
    rue_source_close(source);
    return 0;
}
