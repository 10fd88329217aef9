/* Photographs in memory and transforms of them, for benchmarks of a thread's work on an image. */
#ifndef RUE_BENCH_PHOTOS_H
#define RUE_BENCH_PHOTOS_H

#include "bench.h"
#include "source.h"
#include "transform.h"

enum { BENCH_PHOTOS = 200 };

struct photo {
    unsigned char *data;
    uint64_t bytes;
};

static struct photo *photos;
static int photo_count;

/* Reads at most that many, spread over the folder. */
static inline void bench_read_photos(const char *path, int most)
{
    struct rue_source *source;
    rue_error error = {0};
    bench_check(rue_source_open(path, NULL, &source, &error), &error);
    uint64_t count = rue_source_count(source);
    photo_count = count < (uint64_t)most ? (int)count : most;
    photos = calloc((size_t)photo_count, sizeof *photos);
    for (int i = 0; i < photo_count; i++) {
        uint64_t item = (uint64_t)i * count / (uint64_t)photo_count;
        photos[i].bytes = rue_source_bytes(source, item);
        photos[i].data = malloc(photos[i].bytes);
        bench_check(rue_source_read(source, item, photos[i].data, &error), &error);
    }
    rue_source_close(source);
}

/* NULL: for evaluation. */
static inline struct rue_transform *bench_open_transform(const char *recipe)
{
    struct rue_transform *out;
    struct rue_views views;
    rue_error error = {0};
    if (recipe) bench_check(rue_views_parse(recipe, &views, &error), &error);
    bench_check(rue_transform_open(&(struct rue_transform_options){UINT64_C(1) << 28, RUE_DECODE_EXACT,
                                                                   .geometry = rue_geometry_default(),
                                                                   .views = recipe ? &views : NULL},
                                   &out, &error),
                &error);
    return out;
}

#endif
