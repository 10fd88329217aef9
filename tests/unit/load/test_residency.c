#include "residency.h"
#include "trial_options.h"

#include <criterion/criterion.h>
#include <sys/mman.h>

#include "data_fixture.h"
#include "file_io.h"
#include "usage.h"

enum { PHOTOS = 12 };

static struct rue_source *source;
static struct rue_residency *residency;
static struct rue_workload workload;

static rue_status open_residency(uint64_t images)
{
    const struct rue_sampler order = rue_workload_sampler(&workload);
    return rue_residency_open(source, &order, images, &residency, NULL);
}

static void setup(void)
{
    temporary_folder_make();
    data_photos_make(PHOTOS);
    source = data_open("photos");
    workload = rue_workload_default();
    cr_assert_eq(open_residency(PHOTOS), RUE_OK);
}

static void teardown(void)
{
    rue_residency_close(residency);
    rue_source_close(source);
    temporary_folder_remove();
}

TestSuite(residency, .init = setup, .fini = teardown, .timeout = 60);

static double ratio(void)
{
    double there;
    if (!rue_residency_ratio(residency, &there)) cr_skip("this kernel does not tell");
    return there;
}

static void evict(void)
{
    cr_assert(rue_residency_evict(residency));
    if (ratio() > 0) cr_skip("the folder for temporary files lies in memory");
}

static void reopen(uint64_t images)
{
    rue_residency_close(residency);
    cr_assert_eq(open_residency(images), RUE_OK);
}

Test(residency, has_the_items_of_a_short_job_whose_parts_take_turns)
{
    const struct rue_sampler order = {.world_size = 1, .turn = 2}; /* classes of 4 photos */
    uint64_t bytes = 0;
    for (uint64_t item = 0; item < 6; item++)
        if (item < 2 || item >= 4) bytes += rue_source_bytes(source, item);
    rue_residency_close(residency);
    cr_assert_eq(rue_residency_open(source, &order, 4, &residency, NULL), RUE_OK);
    cr_assert_eq(rue_residency_bytes(residency), bytes);
}

Test(residency, has_each_item_once_however_long_the_trial_is)
{
    uint64_t all = rue_source_total_bytes(source);
    cr_assert_eq(rue_residency_bytes(residency), all);
    reopen(10 * PHOTOS);
    cr_assert_eq(rue_residency_bytes(residency), all);
    reopen(0);
    cr_assert_eq(rue_residency_bytes(residency), all, "0 is all of it");
}

Test(residency, a_short_trial_counts_only_its_own_items)
{
    const struct rue_sampler sampler = {.items = PHOTOS, .seed = 1, .shuffle = true, .world_size = 1};
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < 3; i++) bytes += rue_source_bytes(source, rue_sampler_item(&sampler, i));
    reopen(3);
    cr_assert_eq(rue_residency_bytes(residency), bytes);
}

Test(residency, warm_reads_evicted_data)
{
    evict();
    cr_assert_eq(rue_residency_warm(residency, NULL), RUE_OK);
    cr_assert_float_eq(ratio(), 1, 1e-12);
    uint64_t before = rue_usage_read().read_bytes;
    cr_assert_eq(rue_residency_warm(residency, NULL), RUE_OK);
    cr_assert_eq(rue_usage_read().read_bytes, before, "what is there is not read again");
}

Test(residency, other_items_get_warm_despite_a_damaged_or_missing_one)
{
    char path[PATH_MAX];
    evict();
    rue_source_name(source, 0, path, sizeof path);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rue_residency_warm(residency, NULL), RUE_OK);
}

Test(residency, a_tensor_file_that_is_mapped_can_be_evicted)
{
    data_tensor_make("photos", "x.tensor", RUE_FLOAT32);
    rue_source_close(source);
    source = data_open("x.tensor");
    reopen(PHOTOS);
    cr_assert(rue_source_allows(source, RUE_ACCESS_VIEW), "it was just written");
    evict();
    cr_assert_not(rue_source_allows(source, RUE_ACCESS_VIEW));
    cr_assert_eq(rue_residency_warm(residency, NULL), RUE_OK);
    cr_assert(rue_source_allows(source, RUE_ACCESS_VIEW));
}

static bool judge(const char *cache, double share)
{
    char why[256] = "";
    snprintf(workload.cache, sizeof workload.cache, "%s", cache);
    uint64_t read_bytes = (uint64_t)(share * (double)rue_residency_bytes(residency));
    bool is = rue_residency_judge(residency, &workload, read_bytes, why, sizeof why);
    cr_assert_eq(is, !*why);
    cr_assert(is || strstr(why, cache), "%s", why);
    return is;
}

Test(residency, the_kernel_s_counters_judge_a_trial)
{
    cr_assert(judge(RUE_CACHE_COLD, 1) && judge(RUE_CACHE_COLD, 0.91) && judge(RUE_CACHE_COLD, 1.5));
    cr_assert_not(judge(RUE_CACHE_COLD, 0.89) || judge(RUE_CACHE_COLD, 0));
    cr_assert(judge(RUE_CACHE_WARM, 0) && judge(RUE_CACHE_AS_IS, 0) && judge(RUE_CACHE_AS_IS, 1));
}

Test(residency, a_trial_of_several_epochs_is_cold_only_if_each_was_read_from_storage)
{
    reopen(10 * PHOTOS);
    cr_assert_not(judge(RUE_CACHE_COLD, 1) || judge(RUE_CACHE_COLD, 8.9));
    cr_assert(judge(RUE_CACHE_COLD, 9.1));
}

Test(residency, a_warm_trial_may_read_pages_of_the_program)
{
    char why[256];
    cr_assert(rue_residency_judge(residency, &workload, 1 << 18, why, sizeof why));
    cr_assert_eq(rue_residency_judge(residency, &workload, (1 << 18) + 1, why, sizeof why),
                 (1 << 18) + 1 <= rue_residency_bytes(residency) / 20);
}

Test(residency, a_trial_is_judged_by_its_bytes)
{
    char why[256];
    const struct rue_workload cold = {.cache = RUE_CACHE_COLD};
    cr_assert(rue_residency_judge_bytes(&cold, 950, 1000, 1, why, sizeof why));
    cr_assert_not(rue_residency_judge_bytes(&cold, 850, 1000, 1, why, sizeof why));
    cr_assert_str_eq(why, "the data were not cold: 850 B of the 1.0 KB loaded came from storage");
}

Test(residency, cold_is_verified_before_the_trial)
{
    char why[256] = "";
    evict();
    bool reported = access("/proc/self/io", R_OK) == 0;
    cr_assert_eq(rue_residency_try_cold(residency, why, sizeof why), reported, "%s", why);
    cr_assert(reported || strstr(why, "count"));
}

Test(residency, data_held_by_another_process_cannot_be_cold)
{
    char why[256] = "";
    evict();
    for (uint64_t i = 0; i < PHOTOS; i++) {
        struct rue_place at;
        cr_assert(rue_source_place(source, RUE_ACCESS_READ, i, &at) && at.path);
        int fd = openat(at.fd, at.path, O_RDONLY | O_CLOEXEC);
        cr_assert(mmap(NULL, at.bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0) != MAP_FAILED);
        close(fd);
    }
    cr_assert_not(rue_residency_try_cold(residency, why, sizeof why));
    cr_assert(strstr(why, "100 % of its bytes stay in memory"), "%s", why);
}
