#include "headroom_page.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "interval.h"
#include "utf8.h"

static struct rue_headroom_row row;
static struct rue_headroom headroom;

/* Half of an epoch of 10 s is lost. */
static void begin(enum rue_loading_limit limit)
{
    row = (struct rue_headroom_row){.model = "ape",
                                    .pairs = 5,
                                    .epoch_ns = 10e9,
                                    .steps_ns = 5e9,
                                    .gain = {0.95, 2, 1.6, 2.5},
                                    .first_batch_ns = 3e9,
                                    .busy_cpus = 2.5,
                                    .idle_cpus = 1.4,
                                    .other_cpus = 0.1,
                                    .limit = limit};
    headroom = (struct rue_headroom){.config = rue_config_default(),
                                     .images = 5000,
                                     .cpus = 4,
                                     .row_count = 1,
                                     .rows = &row,
                                     .max_loss_ratio = NAN};
    headroom.config.value[RUE_NUM_WORKERS] = 3;
}

static void assert_says(const char *words)
{
    static char plain[4096];
    size_t used = 0;
    struct rue_page page = {0};
    rue_headroom_put(&page, &headroom);
    cr_assert_not(page.failed);
    for (size_t i = 0; i < page.count; i++) {
        if (!page.sections[i].text) continue;
        rue_utf8_clean(page.sections[i].text, true, plain + used, sizeof plain - used);
        used += strlen(plain + used);
    }
    cr_expect(strstr(plain, words), "%s: %s", words, plain);
    rue_page_close(&page);
}

Test(headroom_page, the_loss_and_its_interval_are_said)
{
    begin(RUE_LIMIT_CPUS);
    assert_says(
        "Loading costs 50 % of an epoch (95 % CI 38 to 60 %): a perfect loader would be 2.00 times as fast.");
    assert_says("an epoch of 5,000 images takes 10 s, and its steps alone 5 s.");
    row.predicted = true;
    assert_says("takes 10 s (estimated from a shorter run)");
    row.gain.confidence = 0;
    assert_says("Loading costs 50 % of an epoch: a perfect");
    row.gain.ratio = 0.97; /* noise */
    assert_says("Loading costs 0 % of an epoch: a perfect loader would be 1.00 times as fast.");
}

Test(headroom_page, what_was_simulated_and_when_it_was_busy_is_said)
{
    begin(RUE_LIMIT_CPUS);
    headroom.findings = (struct rue_findings){.variants = &headroom.variant,
                                              .variant_count = 1,
                                              .runner.consumer = "an NVIDIA RTX A5000",
                                              .changes.busy_after = "other processes used 1.0 CPUs"};
    headroom.variant.trials.meant_ns = 1e9;
    assert_says("the machine was busy: after the last trial, other processes used 1.0 CPUs.");
    assert_says(
        "Models of the catalogue are simulated: they sleep as long as they take on an NVIDIA RTX A5000.");
}

Test(headroom_page, each_limit_has_its_advice)
{
    static const char *const words[RUE_LIMIT_COUNT] = {
        [RUE_LIMIT_NOTHING] = "The loader is as good as a perfect one here.",
        [RUE_LIMIT_START] = "the first batch comes after 3 s.",
        [RUE_LIMIT_CALLER] = "workers (num_workers) would load beside it",
        [RUE_LIMIT_CPUS] = "Loading is CPU-bound: it uses 2.5 of 4 CPUs, and 1.4 are idle.",
        [RUE_LIMIT_STEPS] = "The steps themselves use the CPUs: loading gets 2.5 of 4.",
        [RUE_LIMIT_OTHERS] = "Other programs use 0.1 of 4 CPUs: measure again",
        [RUE_LIMIT_WORKERS] =
            "Its 3 workers compute all the time, and 1.4 of 4 CPUs are idle: more workers help.",
        [RUE_LIMIT_WAITS] = "they use 2.5 CPUs, and 1.4 of 4 are idle",
        [RUE_LIMIT_UNKNOWN] = "Loading costs"};
    for (size_t limit = 0; limit < RUE_LIMIT_COUNT; limit++) {
        begin((enum rue_loading_limit)limit);
        assert_says(words[limit]);
    }
}

Test(headroom_page, the_limit_is_judged_for_the_model_that_loses_most)
{
    struct rue_headroom_row rows[2];
    begin(RUE_LIMIT_CPUS);
    rows[0] = rows[1] = row;
    rows[0].gain.ratio = 1.05;
    rows[1].model = "bee";
    headroom.rows = rows;
    headroom.row_count = 2;
    cr_assert_eq(rue_headroom_worst(&headroom), &rows[1]);
    assert_says("of an epoch of bee");
    headroom.max_loss_ratio = 0.4;
    json_t *object = rue_headroom_json(&headroom);
    cr_assert(json_is_false(json_object_get(object, "within")));
    cr_assert_eq(json_array_size(json_object_get(object, "models")), 2);
    json_decref(object);
    headroom.max_loss_ratio = 0.6;
    object = rue_headroom_json(&headroom);
    cr_assert(json_is_true(json_object_get(object, "within")));
    json_decref(object);
}

Test(headroom_page, pairs_give_a_mean_of_logarithms_and_students_interval)
{
    static const double ratios[] = {2, 2.1, 1.9};
    const struct rue_speedup one = rue_speedup_of_pairs(ratios, 1, 0.95),
                             all = rue_speedup_of_pairs(ratios, 3, 0.95);
    cr_assert(one.confidence == 0 && one.ratio == 2);
    cr_assert_float_eq(all.ratio, 1.99833, 1e-5); /* computed with Python: exp(mean(log)), t(2) = 4.30265 */
    cr_assert_float_eq(all.low, 1.76472, 1e-4);
    cr_assert_float_eq(all.high, 2.26288, 1e-4);
}
