#include "monitor.h"

#include <criterion/criterion.h>
#include <math.h>

#include "temporary_folder.h"
#include "tree_fixture.h"
#include "units.h"

enum { BURNT_MS = 200 };

static struct rue_monitor *monitor;

static void burn(void)
{
    tree_step();
    tree_burn(BURNT_MS);
    tree_say();
    tree_step();
}

static void fork_burner(void)
{
    tree_fork(burn);
}

static void setup(void)
{
    rue_error error = {0};
    temporary_folder_make();
    tree_open(fork_burner);
    cr_assert_eq(rue_monitor_open(tree_root, NULL, 20 * RUE_NS_PER_MS, &monitor, &error), RUE_OK, "%s",
                 error.message);
}

static void teardown(void)
{
    rue_monitor_close(monitor);
    tree_close();
    temporary_folder_remove();
}

TestSuite(monitor, .init = setup, .fini = teardown, .timeout = 60);

static size_t watch_burner(const struct rue_monitor_sample **samples)
{
    tree_go();
    tree_await();
    rue_monitor_stop(monitor);
    return rue_monitor_samples(monitor, samples);
}

static void write_file(const struct rue_monitor_sample *samples, size_t count, uint64_t trial)
{
    FILE *file = fopen(temporary_path("m.csv"), "w");
    rue_monitor_write(samples, count, trial, file);
    cr_assert(!ferror(file) && fclose(file) == 0);
}

Test(monitor, sees_work_from_the_beginning_to_the_end)
{
    const struct rue_monitor_sample *samples;
    size_t count = watch_burner(&samples);
    cr_assert_geq(count, 2);
    for (size_t i = 1; i < count; i++) {
        cr_assert_gt(samples[i].time_s, samples[i - 1].time_s);
        cr_assert_geq(samples[i].cpu_s, samples[i - 1].cpu_s);
    }
    cr_assert_eq(samples[0].cpu_percent, 0);
    cr_assert_geq(samples[count - 1].cpu_s - samples[0].cpu_s, (BURNT_MS - 30) / 1e3);
    cr_assert(samples[count - 1].processes == 1 && samples[count - 1].rss_mb > 0);
}

Test(monitor, without_a_gpu_says_nothing_of_one)
{
    const struct rue_monitor_sample *samples;
    struct rue_scaling_usage usage;
    size_t count = watch_burner(&samples);
    for (size_t i = 0; i < count; i++)
        cr_assert(isnan(samples[i].gpu_percent) && isnan(samples[i].gpu_memory_mb));
    rue_monitor_sum_up(samples, count, &usage);
    cr_assert(isnan(usage.gpu_percent.mean) && isnan(usage.gpu_memory_mb.peak));
}

Test(monitor, what_was_ended_at_once_has_its_first_and_last_look)
{
    const struct rue_monitor_sample *samples;
    rue_monitor_stop(monitor);
    rue_monitor_stop(monitor);
    cr_assert_geq(rue_monitor_samples(monitor, &samples), 2);
}

Test(monitor, means_and_peaks_are_over_the_time_watched)
{
    const struct rue_monitor_sample samples[] = {
        {.rss_mb = 1, .pss_mb = NAN, .gpu_percent = 10, .gpu_memory_mb = 2},
        {.time_s = 1,
         .cpu_s = 2,
         .cpu_percent = 200,
         .rss_mb = 5,
         .pss_mb = 4,
         .read_mb = 7,
         .gpu_percent = 30,
         .gpu_memory_mb = 4},
        {.time_s = 4,
         .cpu_s = 2,
         .rss_mb = 3,
         .pss_mb = NAN,
         .read_mb = 7,
         .write_mb = 0.5,
         .gpu_percent = NAN,
         .gpu_memory_mb = 6}};
    struct rue_scaling_usage usage;
    rue_monitor_sum_up(samples, 3, &usage);
    cr_assert(usage.cpu_percent.mean == 50 && usage.cpu_percent.peak == 200);
    cr_assert(usage.rss_mb.mean == 3 && usage.rss_mb.peak == 5);
    cr_assert(usage.pss_mb.mean == 4 && usage.pss_mb.peak == 4);
    cr_assert(usage.read_mb == 7 && usage.write_mb == 0.5);
    cr_assert(usage.gpu_percent.mean == 20 && usage.gpu_percent.peak == 30);
    cr_assert(usage.gpu_memory_mb.mean == 4 && usage.gpu_memory_mb.peak == 6);
    cr_assert_eq(usage.samples, 3);
}

Test(monitor, its_file_says_the_same_when_it_is_read)
{
    const struct rue_monitor_sample *samples;
    struct rue_scaling_usage usage, again;
    size_t count = watch_burner(&samples);
    rue_monitor_sum_up(samples, count, &usage);
    uint64_t trial;
    write_file(samples, count, 17);
    cr_assert(rue_monitor_read(temporary_path("m.csv"), &trial, &again));
    cr_assert_eq(trial, 17);
    cr_assert_eq(again.samples, usage.samples);
    cr_assert_float_eq(again.cpu_percent.mean, usage.cpu_percent.mean, 5 + usage.cpu_percent.mean / 20);
    cr_assert_float_eq(again.rss_mb.peak, usage.rss_mb.peak, 0.01);
    cr_assert(isnan(again.gpu_percent.mean));
    cr_assert_not(rue_monitor_read(temporary_path("none.csv"), &trial, &again));
}

Test(monitor, a_damaged_file_is_not_believed)
{
    const struct rue_monitor_sample *samples;
    struct rue_scaling_usage usage;
    size_t count = watch_burner(&samples), bytes;
    uint64_t trial;
    write_file(samples, count, 17);
    char *text = (char *)temporary_read("m.csv", &bytes);
    for (size_t cut = 1; cut < bytes; cut += bytes / 40 + 1) {
        bool whole_lines = text[cut - 1] == '\n' && cut > strcspn(text, "\n") + 1;
        temporary_file("m.csv", text, cut);
        cr_assert_eq(rue_monitor_read(temporary_path("m.csv"), &trial, &usage), whole_lines, "%zu", cut);
    }
    temporary_text("m.csv", "time_s\n1\n");
    cr_assert_not(rue_monitor_read(temporary_path("m.csv"), &trial, &usage));
    free(text);
}

Test(monitor, what_was_before_the_trial_can_be_cut_off)
{
    const struct rue_monitor_sample *samples;
    size_t count = watch_burner(&samples);
    struct rue_monitor_sample first = samples[count - 2], last = samples[count - 1];
    rue_monitor_cut(monitor, (uint64_t)(last.time_s * 1e9));
    cr_assert_eq(rue_monitor_samples(monitor, &samples), count, "all of it was the trial");
    rue_monitor_cut(monitor, (uint64_t)((last.time_s - first.time_s) * 1e9));
    cr_assert_eq(rue_monitor_samples(monitor, &samples), 2);
    cr_assert(samples[0].time_s == 0 && samples[0].cpu_s == 0 && samples[0].cpu_percent == 0);
    cr_assert_float_eq(samples[1].time_s, last.time_s - first.time_s, 1e-9);
    cr_assert_float_eq(samples[1].cpu_s, last.cpu_s - first.cpu_s, 1e-9);
    rue_monitor_cut(monitor, 0);
    cr_assert_eq(rue_monitor_samples(monitor, &samples), 2, "a beginning and an end");
}
