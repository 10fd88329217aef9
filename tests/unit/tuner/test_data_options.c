#include "data_options.h"

#include "options_fixture.h"

static const struct rue_option table[] = {
    RUE_WORKLOAD_OPTION_ROWS{RUE_DATA_IMAGE_KEY},
    {RUE_DATA_LABEL_KEY},
    {RUE_DATA_SUBSET},
};
static const struct rue_command command = {.name = "try",
                                           .arguments = "",
                                           .summary = "Tries options.",
                                           .options = table,
                                           .option_count = sizeof table / sizeof *table};

TestSuite(data_options, .init = options_setup, .fini = options_teardown);

Test(data_options, the_workload_without_options_is_the_default)
{
    struct rue_workload workload = rue_workload_default();
    options_accept(&command, (const char *const[]){NULL});
    struct rue_workload read = rue_workload_from_options(options);
    cr_assert_eq(read.seed, workload.seed);
    cr_assert_eq(read.decode, workload.decode);
    cr_assert_eq(read.batch_dtype, RUE_FLOAT32);
    cr_assert_eq(read.bad_images, workload.bad_images);
    cr_assert_eq(read.max_pixels, workload.max_pixels);
    cr_assert_str_eq(read.cache, workload.cache);
    cr_assert_eq(read.shuffle, workload.shuffle);
    cr_assert_eq(read.world_size, workload.world_size);
}

Test(data_options, the_workload_follows_the_options)
{
    options_accept(&command,
                   WORDS("--seed", "7", "--decode", "fast", "--batch-dtype", "uint8", "--bad-images",
                         "replace", "--max-pixels", "99", "--cache", "as-is", "--no-shuffle", "--drop-last",
                         "--share", "contiguous", "--missing-chunks", "error"));
    struct rue_workload read = rue_workload_from_options(options);
    cr_assert_eq(read.seed, 7);
    cr_assert_eq(read.decode, RUE_DECODE_FAST);
    cr_assert_eq(read.batch_dtype, RUE_UINT8);
    cr_assert_eq(read.bad_images, RUE_BAD_REPLACE);
    cr_assert_eq(read.max_pixels, 99);
    cr_assert_str_eq(read.cache, RUE_CACHE_AS_IS);
    cr_assert(!read.shuffle && read.drop_last);
    cr_assert_eq(read.share, RUE_SHARE_CONTIGUOUS);
    cr_assert_eq(read.missing_chunks, RUE_MISSING_ERROR);
}

Test(data_options, keys_are_names_that_fit_a_variant)
{
    struct rue_source_options keys = {0};
    char longest[RUE_VARIANT_KEY_BYTES + 1];
    memset(longest, 'k', sizeof longest);
    longest[RUE_VARIANT_KEY_BYTES - 1] = 0;
    options_accept(&command, WORDS("--image-key", "picture", "--label-key", longest, "--subset", "0:9"));
    cr_assert_eq(rue_data_options_keys(options, &keys, NULL), RUE_OK);
    cr_assert_str_eq(keys.image_key, "picture");
    cr_assert_str_eq(keys.label_key, longest);
    cr_assert_str_eq(keys.subset, "0:9");
    longest[RUE_VARIANT_KEY_BYTES - 1] = 'k';
    longest[RUE_VARIANT_KEY_BYTES] = 0;
    rue_error error = {0};
    options_accept(&command, WORDS("--label-key", longest));
    cr_assert_eq(rue_data_options_keys(options, &keys, &error), RUE_USAGE);
    cr_assert(strstr(error.message, "--label-key: 'kk") &&
                  strstr(error.message, "not a name of 1 to 63 bytes"),
              "%s", error.message);
}
