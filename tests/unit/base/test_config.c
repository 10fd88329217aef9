#include <criterion/criterion.h>
#include <string.h>

#include "config.h"

static struct rue_config make_config(int batch, int workers, int prefetch, int parallelism)
{
    struct rue_config config = rue_config_default();
    config.value[RUE_BATCH_SIZE] = batch;
    config.value[RUE_NUM_WORKERS] = workers;
    config.value[RUE_PREFETCH_FACTOR] = prefetch;
    config.value[RUE_PARALLELISM] = parallelism;
    return config;
}

Test(config, the_table_is_sound)
{
    for (int k = 0; k < RUE_OWN_KNOB_COUNT; k++) {
        const struct rue_knob_info *info = rue_own_knobs.at[k];
        cr_assert_not_null(info->name);
        cr_assert_not_null(info->help);
        cr_assert(info->min <= info->fallback && info->fallback <= info->max, "%s", info->name);
        cr_assert_eq(rue_knob_find(&rue_own_knobs, info->name), k, "%s", info->name);
        for (int v = info->min; info->words && v <= info->max; v++)
            cr_assert_not_null(info->words[v], "%s has a word for each value", info->name);
    }
    cr_assert_eq(rue_knob_find(&rue_own_knobs, "batch"), -1);
    cr_assert_eq(rue_knob_find(&rue_own_knobs, ""), -1);
}

Test(config, canonical_json_omits_default_values)
{
    char text[RUE_CONFIG_TEXT_BYTES];
    struct rue_config config = make_config(128, 8, 2, RUE_PARALLEL_BATCH);
    rue_config_canonical(&config, text);
    cr_assert_str_eq(text, "{\"batch_size\":128,\"num_workers\":8}");
    config = make_config(128, 8, 4, RUE_PARALLEL_SAMPLE);
    rue_config_canonical(&config, text);
    cr_assert_str_eq(
        text, "{\"batch_size\":128,\"num_workers\":8,\"prefetch_factor\":4,\"parallelism\":\"sample\"}");
    config = rue_config_default();
    rue_config_canonical(&config, text);
    cr_assert_str_eq(text, "{\"batch_size\":1,\"num_workers\":0}", "always shown, even at the fallback");
}

Test(config, a_boolean_is_a_word_in_text_and_a_boolean_in_json)
{
    char text[RUE_CONFIG_TEXT_BYTES];
    int value;
    struct rue_config config = make_config(128, 8, 2, RUE_PARALLEL_BATCH), pinned = config;
    config.value[RUE_PIN_MEMORY] = false;
    rue_config_canonical(&config, text);
    cr_assert_str_eq(text, "{\"batch_size\":128,\"num_workers\":8,\"pin_memory\":false}");
    rue_config_label(&config, text);
    cr_assert_str_eq(text, "128/8 pin_memory=false");
    rue_config_describe(&config, text);
    cr_assert_str_eq(text, "batch_size 128, num_workers 8, pin_memory false");
    rue_config_label(&pinned, text);
    cr_assert_str_eq(text, "128/8", "true is what always was");
    cr_assert(rue_knob_parse(rue_own_knobs.at[RUE_PIN_MEMORY], "true", &value) && value == true);
    cr_assert(rue_knob_parse(rue_own_knobs.at[RUE_PIN_MEMORY], "False", &value) && value == false,
              "as Python writes it");
    cr_assert_not(rue_knob_parse(rue_own_knobs.at[RUE_PIN_MEMORY], "yes", &value));
    cr_assert_not(rue_knob_parse(rue_own_knobs.at[RUE_PARALLELISM], "Sample", &value),
                  "no other word may be written so");
}

Test(config, labels_and_descriptions_are_readable)
{
    char text[RUE_CONFIG_TEXT_BYTES];
    struct rue_config config = make_config(128, 8, 2, RUE_PARALLEL_BATCH);
    rue_config_describe(&config, text);
    cr_assert_str_eq(text, "batch_size 128, num_workers 8");
    rue_config_label(&config, text);
    cr_assert_str_eq(text, "128/8");
    config = make_config(128, 8, 4, RUE_PARALLEL_SAMPLE);
    rue_config_describe(&config, text);
    cr_assert_str_eq(text, "batch_size 128, num_workers 8, prefetch_factor 4, parallelism sample");
    rue_config_label(&config, text);
    cr_assert_str_eq(text, "128/8 prefetch_factor=4 parallelism=sample");
}

Test(config, a_knob_that_was_varied_is_described_also_at_its_default)
{
    char text[RUE_CONFIG_TEXT_BYTES];
    struct rue_config others[] = {make_config(128, 8, 2, RUE_PARALLEL_BATCH),
                                  make_config(128, 8, 4, RUE_PARALLEL_BATCH),
                                  make_config(128, 0, 2, RUE_PARALLEL_BATCH)};
    rue_config_describe_varied(&others[0], others, 3, text);
    cr_assert_str_eq(text, "batch_size 128, num_workers 8, prefetch_factor 2");
    rue_config_describe_varied(&others[0], &others[2], 1, text);
    cr_assert_str_eq(text, "batch_size 128, num_workers 8");
    rue_config_describe_varied(&others[2], others, 3, text);
    cr_assert_str_eq(text, "batch_size 128, num_workers 0", "it has no effect without workers");
}

Test(config, the_longest_texts_fit)
{
    char text[RUE_CONFIG_TEXT_BYTES];
    struct rue_config config = make_config(65536, 256, 64, RUE_PARALLEL_SAMPLE);
    rue_config_canonical(&config, text);
    cr_assert_eq(text[strlen(text) - 1], '}');
}

Test(config, values_are_parsed_strictly)
{
    int value = -7;
    cr_assert(rue_knob_parse(rue_own_knobs.at[RUE_BATCH_SIZE], "128", &value));
    cr_assert_eq(value, 128);
    cr_assert(rue_knob_parse(rue_own_knobs.at[RUE_NUM_WORKERS], "0", &value));
    cr_assert_eq(value, 0);
    cr_assert(rue_knob_parse(rue_own_knobs.at[RUE_PARALLELISM], "sample", &value));
    cr_assert_eq(value, RUE_PARALLEL_SAMPLE);
    static const char *const wrong[] = {"",
                                        "0",
                                        "-1",
                                        "--5",
                                        "65537",
                                        "12x",
                                        "x",
                                        " 12",
                                        "12 ",
                                        "+12",
                                        "1.5",
                                        "0x8",
                                        "99999999999999999999",
                                        "-",
                                        "\t1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_not(rue_knob_parse(rue_own_knobs.at[RUE_BATCH_SIZE], wrong[i], &value),
                      "'%s' must be refused", wrong[i]);
    cr_assert_not(rue_knob_parse(rue_own_knobs.at[RUE_NUM_WORKERS], "-1", &value));
    cr_assert_not(rue_knob_parse(rue_own_knobs.at[RUE_PARALLELISM], "1", &value));
    cr_assert_not(rue_knob_parse(rue_own_knobs.at[RUE_PARALLELISM], "Sample", &value));
    cr_assert_not(rue_knob_parse(rue_own_knobs.at[RUE_PARALLELISM], "", &value));
}

Test(config, every_value_survives_writing_and_reading)
{
    for (int k = 0; k < RUE_OWN_KNOB_COUNT; k++)
        for (int v = rue_own_knobs.at[k]->min; v <= rue_own_knobs.at[k]->max;
             v += rue_own_knobs.at[k]->max > 1000 ? 97 : 1) {
            char text[RUE_KNOB_TEXT_BYTES];
            int value = -1;
            rue_knob_format(rue_own_knobs.at[k], v, text);
            cr_assert(rue_knob_parse(rue_own_knobs.at[k], text, &value), "%s", text);
            cr_assert_eq(value, v);
        }
}

Test(config, equality_sees_every_knob)
{
    struct rue_config a = make_config(128, 8, 2, RUE_PARALLEL_BATCH), b = a;
    cr_assert(rue_config_equal(&a, &b));
    for (int k = 0; k < RUE_OWN_KNOB_COUNT; k++) {
        b = a;
        b.value[k] =
            b.value[k] == rue_own_knobs.at[k]->min ? rue_own_knobs.at[k]->min + 1 : rue_own_knobs.at[k]->min;
        cr_assert_not(rue_config_equal(&a, &b), "%s", rue_own_knobs.at[k]->name);
    }
}

Test(config, the_window_is_bounded_by_the_job)
{
    struct rue_config config = make_config(32, 4, 2, RUE_PARALLEL_BATCH);
    cr_assert_eq(rue_config_window(&config, 100), 8);
    cr_assert_eq(rue_config_window(&config, 8), 8);
    cr_assert_eq(rue_config_window(&config, 3), 3);
    config.value[RUE_MAX_QUEUE_SIZE] = 5;
    cr_assert_eq(rue_config_window(&config, 100), 5);
    config.value[RUE_MAX_QUEUE_SIZE] = 9;
    cr_assert_eq(rue_config_window(&config, 100), 8, "a cap makes no queue longer");
    config = make_config(32, 0, 2, RUE_PARALLEL_BATCH);
    cr_assert_eq(rue_config_window(&config, 100), 1, "without workers one batch is in flight");
    cr_assert_geq(rue_config_window(&config, 0), 1);
}

Test(config, drop_last_skips_a_last_batch_that_is_not_full)
{
    struct rue_config config = rue_config_default();
    config.value[RUE_BATCH_SIZE] = 64;
    cr_assert_eq(rue_config_images(&config, false, 100), 100);
    cr_assert_eq(rue_config_images(&config, true, 100), 64);
    cr_assert_eq(rue_config_images(&config, true, 128), 128);
    cr_assert_eq(rue_config_images(&config, true, 63), 63, "not one batch is full");
}
