/* The loader with a recipe: an image is a function of seed, epoch and item alone. */
#include <criterion/criterion.h>
#include <string.h>

#include "loader_fixture.h"

enum { PHOTOS = 6, EPOCHS = 2, SEED = 7, FIRST_EPOCH = 1 };

static struct rue_source *source;
static struct rue_views views;
static uint32_t expected[EPOCHS][PHOTOS];

/* What the transform makes of each item, without a loader. */
static void make_expected(void)
{
    static uint8_t jpeg[1 << 20], levels[RUE_TENSOR_ITEMS];
    struct rue_transform *transform;
    cr_assert_eq(rue_transform_open(&(struct rue_transform_options){RUE_MAX_PIXELS_DEFAULT, RUE_DECODE_EXACT,
                                                                    .geometry = rue_geometry_default(),
                                                                    .views = &views},
                                    &transform, NULL),
                 RUE_OK);
    for (uint32_t e = 0; e < EPOCHS; e++)
        for (uint64_t i = 0; i < PHOTOS; i++) {
            const struct rue_training training = {{SEED, FIRST_EPOCH + e, 0}, i};
            cr_assert_eq(rue_source_read(source, i, jpeg, NULL), RUE_OK);
            cr_assert_eq(rue_transform_train(transform, jpeg, rue_source_bytes(source, i), &training,
                                             RUE_UINT8, (void *[]){levels}, NULL),
                         RUE_OK);
            expected[e][i] = rue_crc32c(0, levels, sizeof levels);
        }
    rue_transform_close(transform);
}

static void setup(void)
{
    temporary_folder_make();
    data_photos_make(PHOTOS);
    source = data_open("photos");
    cr_assert_eq(rue_views_parse("aggressive", &views, NULL), RUE_OK);
    make_expected();
}

static void teardown(void)
{
    rue_source_close(source);
    temporary_folder_remove();
}

TestSuite(training_loader, .init = setup, .fini = teardown, .timeout = 120);

static struct rue_loader_options training_options(struct loader_case knobs, uint64_t images)
{
    struct rue_loader_options options = make_loader_options(knobs, images);
    options.fetcher.dtype = RUE_UINT8;
    options.fetcher.views = &views;
    options.fetcher.seed = SEED;
    return options;
}

/* Loads two epochs of the rank. */
static void check_rank(struct rue_loader_options options)
{
    struct rue_loader *loader;
    struct rue_batch *batch;
    struct rue_sampler sampler = options.sampler;
    rue_error error = {0};
    sampler.items = PHOTOS;
    options.images = rue_sampler_share(&sampler) * EPOCHS;
    cr_assert_eq(rue_loader_open(source, &options, &loader, &error), RUE_OK, "%s", error.message);
    for (uint64_t position = 0; position < options.images;) {
        cr_assert_eq(rue_loader_next(loader, &batch, &error), RUE_OK, "%s", error.message);
        for (size_t i = 0; i < batch->count; i++, position++) {
            uint32_t crc = rue_crc32c(0, (uint8_t *)batch->images + i * RUE_TENSOR_ITEMS, RUE_TENSOR_ITEMS);
            uint64_t epoch = position / rue_sampler_share(&sampler),
                     item = rue_sampler_item(&sampler, position);
            cr_assert_eq(rue_sampler_epoch(&sampler, position), FIRST_EPOCH + epoch);
            cr_assert_eq(crc, expected[epoch][item], "%s: item %d of epoch %d", loader_case_name(&options),
                         (int)item, (int)epoch);
        }
        rue_loader_release(loader, batch);
    }
    rue_loader_close(loader);
}

Test(training_loader, images_do_not_depend_on_workers_and_ranks)
{
    static const struct loader_case cases[] = {{4, 0, 1, RUE_PARALLEL_BATCH},
                                               {4, 1, 2, RUE_PARALLEL_BATCH},
                                               {1, 3, 2, RUE_PARALLEL_BATCH},
                                               {5, 3, 1, RUE_PARALLEL_SAMPLE}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int read = RUE_READ_AUTO; read <= RUE_READ_ITEM; read++)
            for (int world = 1; world <= 3; world++)
                for (int rank = 0; rank < world; rank++) {
                    struct rue_loader_options options = training_options(cases[c], 1);
                    options.sampler.rank = rank;
                    options.sampler.world_size = world;
                    options.fetcher.read = (enum rue_read)read;
                    check_rank(options);
                }
}

/* The CRC of the levels that the transform makes of the item as view `v`, without the other views. */
static uint32_t lone_view(const struct rue_view *view, uint32_t v, uint64_t item, size_t bytes)
{
    static uint8_t jpeg[1 << 20], levels[RUE_TENSOR_ITEMS];
    const struct rue_views one = {.count = 1, .at = {*view}};
    const struct rue_training training = {{SEED, FIRST_EPOCH, v}, item};
    struct rue_transform *transform;
    cr_assert_eq(
        rue_transform_open(&(struct rue_transform_options){RUE_MAX_PIXELS_DEFAULT, RUE_DECODE_EXACT,
                                                           .geometry = rue_geometry_default(), .views = &one},
                           &transform, NULL),
        RUE_OK);
    cr_assert_eq(rue_source_read(source, item, jpeg, NULL), RUE_OK);
    cr_assert_eq(rue_transform_train(transform, jpeg, rue_source_bytes(source, item), &training, RUE_UINT8,
                                     (void *[]){levels}, NULL),
                 RUE_OK);
    rue_transform_close(transform);
    return rue_crc32c(0, levels, bytes);
}

/* A batch has all images of the first view, then of the second, ..., each as the view alone would be. */
Test(training_loader, views_of_one_decode_are_those_of_many)
{
    struct rue_views several;
    struct rue_batch *batch;
    cr_assert_eq(rue_views_parse("aggressive,2*simclr@96,mild@40x7", &several, NULL), RUE_OK);
    for (int workers = 0; workers < 3; workers += 2) {
        struct rue_loader *loader;
        struct rue_loader_options options =
            training_options((struct loader_case){4, workers, 2, RUE_PARALLEL_SAMPLE}, PHOTOS);
        options.fetcher.views = &several;
        cr_assert_eq(rue_loader_open(source, &options, &loader, NULL), RUE_OK);
        for (uint64_t done = 0; done < PHOTOS; done += batch->count, rue_loader_release(loader, batch)) {
            cr_assert_eq(rue_loader_next(loader, &batch, NULL), RUE_OK);
            const uint8_t *image = batch->images;
            for (uint32_t v = 0; v < several.count; v++) {
                const struct rue_view *view = &several.at[v];
                size_t bytes = view->height ? 3 * (size_t)view->height * view->width : RUE_TENSOR_ITEMS;
                for (size_t i = 0; i < batch->count; i++, image += bytes)
                    cr_assert_eq(rue_crc32c(0, image, bytes), lone_view(view, v, batch->items[i], bytes),
                                 "item %d, view %d", (int)batch->items[i], (int)v);
            }
        }
        rue_loader_close(loader);
    }
}

Test(training_loader, epochs_and_items_differ)
{
    for (size_t i = 0; i < EPOCHS * PHOTOS; i++)
        for (size_t j = 0; j < i; j++)
            cr_assert_neq(expected[i / PHOTOS][i % PHOTOS], expected[j / PHOTOS][j % PHOTOS]);
}

Test(training_loader, preprocessed_data_and_fast_decoding_are_refused)
{
    data_tensor_make("photos", "uint8", RUE_UINT8);
    struct rue_source *tensors = data_open("uint8");
    struct rue_loader_options options =
        training_options((struct loader_case){1, 0, 1, RUE_PARALLEL_BATCH}, 1);
    struct rue_loader *loader;
    rue_error error = {0}, fast = {0};
    cr_assert_eq(rue_loader_open(tensors, &options, &loader, &error), RUE_USAGE);
    cr_assert(strstr(error.message, "whose crop is fixed"));
    options.fetcher.decode = RUE_DECODE_FAST;
    cr_assert_eq(rue_loader_open(source, &options, &loader, &fast), RUE_USAGE);
    cr_assert(strstr(fast.message, "decodes only exactly"));
    rue_source_close(tensors);
}
