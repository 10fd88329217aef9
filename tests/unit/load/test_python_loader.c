/* The functions that Python calls: options as JSON, right, wrong and damaged; epochs; a close while batches
 * are held. */
#include <criterion/criterion.h>

#include "data_fixture.h"
#include "python_options.h"
#include "random.h"
#include "rue_python.h"

enum { PHOTOS = 11, IMAGES = PHOTOS, HELD = 2 };

static struct rue_source *source;

static struct rue_source *open_data(const char *name, const char *options)
{
    rue_error error = {0};
    struct rue_source *out = NULL;
    const int stop = 0;
    cr_assert_eq(rue_python_open_data(temporary_path(name), NULL, options, &stop, &out, &error), RUE_OK, "%s",
                 error.message);
    return out;
}

static void setup(void)
{
    temporary_folder_make();
    data_photos_make(PHOTOS);
    data_tensor_make("photos", "tensors", RUE_UINT8);
    source = open_data("tensors", "{}");
}

static void teardown(void)
{
    rue_source_close(source);
    temporary_folder_remove();
}

TestSuite(python_loader, .init = setup, .fini = teardown, .timeout = 120);

#define EVERY_OPTION                                                                                        \
    "{\"batch_size\": 3, \"num_workers\": 2, \"prefetch_factor\": 3, \"max_queue_size\": 4, \"read\": "     \
    "\"item\", "                                                                                            \
    "\"parallelism\": \"sample\", \"batch_strategy\": \"fixed\", \"pin_memory\": false, \"transform\": "    \
    "\"eval\", "                                                                                            \
    "\"augment\": \"mild\", \"decode\": \"exact\", \"batch_dtype\": \"uint8\", \"shuffle\": true, "         \
    "\"seed\": 7, "                                                                                         \
    "\"drop_last\": false, \"share\": \"strided\", \"rank\": 0, \"world_size\": 1, \"bad_images\": "        \
    "\"replace\", "                                                                                         \
    "\"max_pixels\": 100000, \"missing_chunks\": \"fill\", \"memory_bytes\": 100000000, \"format\": null, " \
    "\"image_key\": \"jpg\", \"label_key\": \"cls\"}"

static const struct {
    const char *text, *word; /* NULL: it is right */
} options[] = {
    {"{}", NULL},
    {EVERY_OPTION, NULL},
    {"{\"batch_size\": null, \"augment\": \"area 0.5 1 ratio 1 1 flip 0\", \"transform\": \"train\"}", NULL},
    {"", "not a JSON object"},
    {"[]", "not a JSON object"},
    {"{\"batch_size\": 3", "not a JSON object"},
    {"{\"seed\": 99999999999999999999}", "not a JSON object"},
    {"{\"bath_size\": 3}", "unknown option 'bath_size'"},
    {"{\"batch_size\": 0}", "batch_size 0: expected a whole number from 1 to 65536"},
    {"{\"batch_size\": \"3\"}", "batch_size 3: expected"},
    {"{\"batch_size\": true}", "batch_size true: expected"},
    {"{\"batch_size\": 3.0}", "batch_size 3.0: expected"},
    {"{\"batch_size\": [3]}", "batch_size [3]: expected"},
    {"{\"pin_memory\": 1}", "pin_memory 1: expected false or true"},
    {"{\"read\": false}", "read false: expected auto, batch or item"},
    {"{\"transform\": 3}", "transform 3: expected eval or train"},
    {"{\"seed\": -1}", "seed -1: expected a whole number from 0"},
    {"{\"seed\": true}", "seed true: expected"},
    {"{\"shuffle\": 1}", "shuffle 1: expected true or false"},
    {"{\"augment\": {}}", "augment {}: expected presets or recipes"},
    {"{\"augment\": \"wild\"}", "unknown preset"},
    {"{\"augment\": \"area 2 3\"}", "area"},
    {"{\"format\": 3}", "format 3: expected a name"},
    {"{\"format\": \"a name that is longer than any format has\"}", "expected a name"},
    {"{\"rank\": 2, \"world_size\": 2}", "rank 2 is out of range"},
    {"{\"world_size\": 0}", "world_size 0: expected"},
};

Test(python_loader, options_are_read_or_refused_by_name)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct rue_python_options read;
        rue_error error = {0};
        rue_status status = rue_python_read_options(options[i].text, &read, &error);
        cr_assert_eq(status, options[i].word ? RUE_USAGE : RUE_OK, "%s: %s", options[i].text, error.message);
        cr_assert(!options[i].word || strstr(error.message, options[i].word), "%s: %s", options[i].text,
                  error.message);
    }
}

Test(python_loader, every_option_is_read)
{
    struct rue_python_options read;
    rue_error error = {0};
    cr_assert_eq(rue_python_read_options(EVERY_OPTION, &read, &error), RUE_OK);
    cr_assert(read.config.value[RUE_BATCH_SIZE] == 3 && read.config.value[RUE_NUM_WORKERS] == 2);
    cr_assert(read.workload.seed == 7 && read.workload.shuffle && read.workload.max_pixels == 100000);
    cr_assert(read.memory_bytes == 100000000 && read.workload.batch_dtype == RUE_UINT8);
    cr_assert_str_eq(read.data.image_key, "jpg");
    cr_assert_str_eq(read.data.format, "");
}

/* Changes, drops or repeats a few bytes. */
static void damage(char *text, size_t bytes, uint64_t *random)
{
    static const char likely[] = "{}[]\",:0123456789.eE-+truefalsn\\u\xff";
    for (uint64_t changes = 1 + rue_random_below(random, 4); changes > 0; changes--) {
        size_t length = strlen(text), at = length ? rue_random_below(random, length) : 0;
        uint64_t how = rue_random_below(random, 3);
        if (how == 0 && length) text[at] = likely[rue_random_below(random, sizeof likely - 1)];
        if (how == 1 && length) memmove(text + at, text + at + 1, length - at);
        if (how == 2 && length && length + 2 < bytes) memmove(text + at + 1, text + at, length - at + 1);
    }
}

Test(python_loader, damaged_options_never_harm)
{
    uint64_t random = 1, refused = 0;
    for (int i = 0; i < 30000; i++) {
        char text[2048];
        rue_error error = {0};
        uint64_t share, images;
        snprintf(text, sizeof text, "%s",
                 options[rue_random_below(&random, sizeof options / sizeof *options)].text);
        damage(text, sizeof text, &random);
        rue_status status = rue_python_images(source, text, RUE_EVEN_PAD, &share, &images, &error);
        cr_assert(status == RUE_OK || (status == RUE_USAGE && *error.message), "%s: %d", text, status);
        refused += status != RUE_OK;
    }
    cr_assert(refused > 1000 && refused < 30000, "%d refused", (int)refused);
}

static const char *const loaders[] = {
    "{\"batch_size\": 3, \"num_workers\": 0, \"batch_dtype\": \"uint8\"}",
    "{\"batch_size\": 3, \"num_workers\": 1, \"batch_dtype\": \"uint8\"}",
    "{\"batch_size\": 3, \"num_workers\": 3, \"batch_dtype\": \"uint8\", \"parallelism\": \"sample\"}",
    "{\"batch_size\": 3, \"num_workers\": 2, \"batch_dtype\": \"uint8\", \"drop_last\": true}",
};

static struct rue_batch *wait_for_batch(struct rue_loader *loader)
{
    rue_error error = {0};
    struct rue_batch *batch;
    rue_status status;
    while ((status = rue_loader_next_within(loader, 1000000, &batch, &error)) == RUE_TIMEOUT) continue;
    cr_assert_eq(status, RUE_OK, "%s", error.message);
    return batch;
}

Test(python_loader, epochs_are_loaded_and_batches_outlive_close)
{
    for (size_t i = 0; i < sizeof loaders / sizeof *loaders; i++) {
        rue_error error = {0};
        struct rue_loader *loader;
        struct rue_batch *batch, *held[HELD];
        cr_assert_eq(rue_python_open_loader(source, loaders[i], IMAGES, HELD + 1, &loader, &error), RUE_OK,
                     "%s", error.message);
        for (uint64_t epoch = 0; epoch < 4; epoch++) {
            uint64_t images = 0;
            cr_assert_eq(rue_loader_rewind(loader, epoch, epoch % 2 ? 4 : 0, &error), RUE_OK);
            for (; (batch = wait_for_batch(loader));
                 images += batch->count, rue_python_release(loader, &batch))
                cr_assert(batch->epoch == epoch && batch->items[0] < PHOTOS);
            cr_assert_eq(images, (epoch % 2 ? 7 : 11) / (i == 3 ? 3 : 1) * (i == 3 ? 3 : 1));
        }
        cr_assert_eq(rue_loader_rewind(loader, 9, 0, &error), RUE_OK);
        for (int h = 0; h < HELD; h++) held[h] = wait_for_batch(loader);
        rue_loader_close(loader);
        for (int h = 0; h < HELD; h++) {
            memset(held[h]->images, h, held[h]->count * RUE_TENSOR_ITEMS);
            for (int twice = 0; twice < 2; twice++) rue_python_release(loader, twice ? &batch : &held[h]);
            cr_assert_null(held[h]);
        }
    }
}

Test(python_loader, facts_and_shares_are_those_of_the_data)
{
    struct rue_python_facts facts;
    rue_error error = {0};
    uint64_t share, images;
    const char *third = "{\"rank\": 2, \"world_size\": 3}";
    cr_assert_eq(rue_python_facts(source, "{}", &facts, &error), RUE_OK);
    cr_assert(facts.items == PHOTOS && facts.has_labels && !facts.raw && facts.classes == 3 &&
              facts.shape[0][1] == RUE_IMAGE_SIZE);
    cr_assert_str_eq(facts.format, "tensor");
    static const uint64_t expected[] = {[RUE_EVEN_NONE] = 3, [RUE_EVEN_DROP] = 3, [RUE_EVEN_PAD] = 4};
    for (int even = RUE_EVEN_NONE; even <= RUE_EVEN_PAD; even++) {
        cr_assert_eq(rue_python_images(source, third, (enum rue_even)even, &share, &images, &error), RUE_OK);
        cr_assert(share == 3 && images == expected[even]);
    }
    cr_assert_eq(rue_python_images(source, "{\"rank\": 11, \"world_size\": 12}", RUE_EVEN_PAD, &share,
                                   &images, &error),
                 RUE_USAGE);
    cr_assert_eq(rue_python_abi(), RUE_PYTHON_ABI);
}

Test(python_loader, opening_can_be_stopped_and_refused)
{
    rue_error error = {0};
    struct rue_source *out = NULL;
    struct rue_loader *loader = NULL;
    int stop = 1;
    cr_assert_eq(rue_python_open_data(temporary_path("photos"), NULL, "{}", &stop, &out, &error),
                 RUE_INTERRUPTED);
    stop = 0;
    rue_error_clear(&error);
    cr_assert_eq(rue_python_open_data(temporary_path("nowhere"), NULL, "{}", &stop, &out, &error), RUE_DATA);
    cr_assert_eq(rue_python_open_data(temporary_path("photos"), NULL, "{", &stop, &out, &error), RUE_USAGE);
    cr_assert_eq(rue_python_open_loader(source, "{\"batch_size\": 12, \"drop_last\": true}", IMAGES, 1,
                                        &loader, &error),
                 RUE_USAGE);
    cr_assert_eq(rue_python_open_loader(source, "{\"batch_size\": 3, \"memory_bytes\": 1000}", IMAGES, 1,
                                        &loader, &error),
                 RUE_INFEASIBLE);
    cr_assert(!out && !loader);
}
