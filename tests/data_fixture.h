/* Small data sets in the temporary folder, and the items of a set for comparison. */
#ifndef RUE_DATA_FIXTURE_H
#define RUE_DATA_FIXTURE_H

#include "crc32c.h"
#include "fetcher.h"
#include "jpeg_fixture.h"
#include "sink.h"
#include "source.h"
#include "temporary_folder.h"

static inline void data_require(bool good, const char *what, const rue_error *error)
{
    if (good) return;
    fprintf(stderr, "%s: %s\n", what, error ? error->message : "");
    abort();
}

/* "photos/class_2/0005.jpg": photo `index` of a set of three classes; every 3rd index is of the same one. */
static inline const char *data_photo_name(unsigned index)
{
    static char names[4][64];
    static unsigned turn;
    char *name = names[turn++ % 4];
    snprintf(name, 64, "photos/class_%u/%04u.jpg", index % 3, index / 3);
    return name;
}

/* A photo unlike those of other indices. */
static inline struct jpeg_file data_photo(unsigned index)
{
    return jpeg_make((struct jpeg_recipe){.width = 20 + index % 40, .height = 16 + index * 7 % 33});
}

/* `count` photos below "photos". */
static inline void data_photos_make(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct jpeg_file file = data_photo(i);
        temporary_file(data_photo_name(i), file.data, file.bytes);
        free(file.data);
    }
}

/* Half of a photo in the place of a whole one. */
static inline void data_photo_damage(unsigned index)
{
    struct jpeg_file file = data_photo(index);
    temporary_file(data_photo_name(index), file.data, file.bytes / 2);
    free(file.data);
}

static inline struct rue_source *data_open(const char *name)
{
    rue_error error = {0};
    struct rue_source *source;
    data_require(rue_source_open(temporary_path(name), NULL, &source, &error) == RUE_OK, "open", &error);
    return source;
}

/* The tensor file `name` of what lies at `from`, in its order. */
static inline void data_tensor_make(const char *from, const char *name, enum rue_dtype dtype)
{
    rue_error error = {0};
    struct rue_source *source = data_open(from);
    struct rue_fetcher *fetcher;
    struct rue_sink *sink;
    const struct rue_fetcher_options options = {.dtype = dtype, .max_pixels = RUE_MAX_PIXELS_DEFAULT};
    const char *classes[64] = {0};
    const struct rue_sink_options made = {.mode = RUE_PREPROCESSED,
                                          .dtype = dtype,
                                          .shape = {RUE_CHANNELS, RUE_CROP, RUE_CROP},
                                          .count = rue_source_count(source),
                                          .class_count = rue_source_class_count(source),
                                          .classes = classes};
    const struct rue_sink_mark beginning = {0};
    void *tensor = malloc(rue_fetcher_tensor_bytes(dtype));
    rue_status status = rue_fetcher_open(source, &options, &fetcher, &error);
    data_require(status == RUE_OK && made.class_count <= 64, "fetcher", &error);
    for (size_t c = 0; c < made.class_count; c++) classes[c] = rue_source_class_name(source, c);
    status = rue_sink_open(rue_sink_find("tensor"), temporary_path(name), &made, &beginning, &sink, &error);
    data_require(status == RUE_OK, "sink", &error);
    for (uint64_t i = 0; status == RUE_OK && i < made.count; i++) {
        int32_t label = -1;
        status = rue_fetcher_fetch(fetcher, i, tensor, &label, NULL, &error);
        const struct rue_item item = {"x", label, tensor, rue_fetcher_tensor_bytes(dtype)};
        if (status == RUE_OK) status = rue_sink_add(sink, &item, &error);
    }
    if (status == RUE_OK) status = rue_sink_finish(sink, &error);
    data_require(status == RUE_OK, "write", &error);
    rue_sink_close(sink);
    rue_fetcher_close(fetcher);
    rue_source_close(source);
    free(tensor);
}

/* The tensor file `name` of one image that is not of the size that rue loads, all of it black. */
static inline void data_odd_tensor_make(const char *name, uint32_t channels, uint32_t side)
{
    rue_error error = {0};
    struct rue_sink *sink;
    const struct rue_sink_options made = {
        .mode = RUE_PREPROCESSED, .dtype = RUE_UINT8, .shape = {channels, side, side}, .count = 1};
    const struct rue_sink_mark beginning = {0};
    const struct rue_item item = {"x", 0, calloc(rue_sink_item_bytes(&made), 1), rue_sink_item_bytes(&made)};
    rue_status status =
        rue_sink_open(rue_sink_find("tensor"), temporary_path(name), &made, &beginning, &sink, &error);
    data_require(status == RUE_OK && item.data, "sink", &error);
    status = rue_sink_add(sink, &item, &error);
    if (status == RUE_OK) status = rue_sink_finish(sink, &error);
    data_require(status == RUE_OK, "write", &error);
    rue_sink_close(sink);
    free((void *)item.data);
}

/* What a set's items become: a checksum of each tensor, and its label. */
struct data_items {
    uint64_t count;
    uint32_t *crcs;
    int32_t *labels;
};

static inline struct data_items data_items_fetch(const struct rue_source *source,
                                                 struct rue_fetcher_options options)
{
    rue_error error = {0};
    struct rue_fetcher *fetcher;
    struct data_items items = {.count = rue_source_count(source)};
    size_t bytes = rue_fetcher_tensor_bytes(options.dtype);
    items.crcs = calloc(items.count, sizeof *items.crcs);
    items.labels = calloc(items.count, sizeof *items.labels);
    void *tensor = malloc(bytes);
    data_require(rue_fetcher_open(source, &options, &fetcher, &error) == RUE_OK, "fetcher", &error);
    for (uint64_t i = 0; i < items.count; i++) {
        data_require(rue_fetcher_fetch(fetcher, i, tensor, &items.labels[i], NULL, &error) == RUE_OK, "fetch",
                     &error);
        items.crcs[i] = rue_crc32c(0, tensor, bytes);
    }
    rue_fetcher_close(fetcher);
    free(tensor);
    return items;
}

static inline void data_items_free(struct data_items *items)
{
    free(items->crcs);
    free(items->labels);
    *items = (struct data_items){0};
}

#endif
