#include "trial_cache.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

TestSuite(trial_cache, .timeout = 30);

static const struct rue_speed first = {0, 0}, later = {0.1, 0};

Test(trial_cache, finds_what_was_noted_however_much_there_is)
{
    struct rue_trial_cache cache = {.count = 0};
    enum { MODELS = 7, CONFIGS = 50, LENGTHS = 9 };
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < MODELS * CONFIGS * LENGTHS; i++) {
            size_t model = i % MODELS ? i % MODELS : SIZE_MAX;
            struct rue_trial_key key = {model, i / MODELS % CONFIGS, 1 + i / (MODELS * CONFIGS), first};
            struct rue_cached_trial *trial = rue_trial_cache_find(&cache, &key);
            cr_assert_not_null(trial);
            if (round == 0)
                cr_assert(isnan(trial->time_s) && !trial->point);
            else
                cr_assert_eq(trial->time_s, (double)i);
            trial->time_s = (double)i;
        }
    cr_assert_eq(cache.count, MODELS * CONFIGS * LENGTHS);
    rue_trial_cache_clear(&cache);
}

Test(trial_cache, tells_speeds_of_the_machine_apart)
{
    struct rue_trial_cache cache = {.count = 0};
    struct rue_trial_key before = {1, 2, 3, first}, after = {1, 2, 3, later};
    rue_trial_cache_find(&cache, &before)->time_s = 5;
    cr_assert(isnan(rue_trial_cache_find(&cache, &after)->time_s));
    cr_assert_eq(rue_trial_cache_find(&cache, &before)->time_s, 5);
    rue_trial_cache_clear(&cache);
}

Test(trial_cache, knows_nothing_after_it_was_cleared)
{
    struct rue_trial_cache cache = {.count = 0};
    struct rue_trial_key key = {1, 2, 3, first};
    struct rue_cached_trial *trial = rue_trial_cache_find(&cache, &key);
    trial->time_s = 5;
    trial->point = calloc(1, sizeof *trial->point);
    rue_trial_cache_clear(&cache);
    trial = rue_trial_cache_find(&cache, &key);
    cr_assert(isnan(trial->time_s) && !trial->point);
    rue_trial_cache_clear(&cache);
}
