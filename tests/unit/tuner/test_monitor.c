#include "monitor.h"

#include <criterion/criterion.h>
#include <math.h>

#include "suspension.h"
#include "tree_fixture.h"
#include "units.h"

enum { BURNT_MS = 200 };

static struct rue_monitor *monitor;

static void burn(void)
{
    tree_step();
    tree_burn(BURNT_MS);
    tree_write_line();
    tree_step();
}

static void setup(void)
{
    rue_error error = {0};
    tree_open(burn);
    cr_assert_eq(rue_monitor_open(rue_suspension_awake_ns(), 20 * RUE_NS_PER_MS, &monitor, &error), RUE_OK,
                 "%s", error.message);
}

static void teardown(void)
{
    rue_monitor_close(monitor);
    tree_close();
}

TestSuite(monitor, .init = setup, .fini = teardown, .timeout = 60);

static size_t watch_burner(const struct rue_usage_sample **samples)
{
    tree_go();
    tree_await();
    rue_monitor_stop(monitor);
    return rue_monitor_samples(monitor, samples);
}

Test(monitor, sees_work_from_the_beginning_to_the_end)
{
    const struct rue_usage_sample *samples;
    size_t count = watch_burner(&samples);
    double cpu_s = 0, before_s = 0;
    cr_assert_geq(count, 1);
    for (size_t i = 0; i < count; i++) {
        cr_assert_gt(samples[i].time_s, before_s);
        cr_assert_geq(samples[i].cpu_percent, 0);
        cpu_s += samples[i].cpu_percent / 100 * (samples[i].time_s - before_s);
        before_s = samples[i].time_s;
    }
    cr_assert_geq(cpu_s, (BURNT_MS - 30) / 1e3);
    cr_assert(samples[count - 1].processes >= 1 && samples[count - 1].rss_mb > 0);
}

Test(monitor, has_no_gpu_figures_without_a_gpu)
{
    const struct rue_usage_sample *samples;
    size_t count = watch_burner(&samples);
    for (size_t i = 0; i < count && access("/dev/nvidia0", F_OK) != 0; i++)
        cr_assert(isnan(samples[i].gpu_percent) && isnan(samples[i].gpu_memory_mb));
}

Test(monitor, a_process_that_ended_at_once_has_a_last_sample)
{
    const struct rue_usage_sample *samples;
    rue_monitor_stop(monitor);
    rue_monitor_stop(monitor);
    cr_assert_geq(rue_monitor_samples(monitor, &samples), 1);
}
