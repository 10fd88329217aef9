#include <criterion/criterion.h>
#include <math.h>

#include "interference.h"
#include "temporary_folder.h"

static void put(const char *name, const char *text)
{
    temporary_file(name, text, strlen(text));
}

TestSuite(interference, .init = temporary_folder_make, .fini = temporary_folder_remove);

Test(interference, shares_are_the_growth_of_the_counters)
{
    put("proc/stat", "cpu  100 0 100 700 0 0 0 100 0 0\ncpu0 1 2 3\n");
    put("proc/self/cgroup", "0::/a/b\n");
    put("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 5\nnr_throttled 1\nthrottled_usec 1000000\n");
    put("sys/fs/cgroup/a/cpu.stat", "usage_usec 5\nthrottled_usec 500000\n");
    put("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n");
    put("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n");
    put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\nfull avg10=0 total=9\n");
    struct rue_interference_reading from = rue_interference_read(temporary_folder);
    cr_expect_eq(from.counter[RUE_HEAT], 7);
    cr_expect_eq(from.counter[RUE_THROTTLED], 1);
    cr_expect_eq(from.counter[RUE_WAITED_CPU], 2);
    cr_expect(isnan(from.counter[RUE_WAITED_IO]));
    put("proc/stat", "cpu  150 0 150 750 0 0 0 150 0 0\n");
    put("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 5\nnr_throttled 1\nthrottled_usec 2000000\n");
    put("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "6\n");
    put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=3000000\n");
    struct rue_interference_reading to = rue_interference_read(temporary_folder);
    to.time_s = from.time_s + 4;
    double shares[RUE_INTERFERENCES];
    rue_interference_rates(&from, &to, shares);
    cr_expect_float_eq(shares[RUE_STOLEN], 0.25, 1e-9);
    cr_expect_float_eq(shares[RUE_THROTTLED], 0.25, 1e-9);
    cr_expect_float_eq(shares[RUE_BUSY], 1.0 / 4, 1e-9, "100 ticks in 4 s");
    cr_expect_float_eq(shares[RUE_WAITED_CPU], 0.25, 1e-9);
    cr_expect_float_eq(shares[RUE_HEAT], 2 / 4.0, 1e-9);
}

Test(interference, quotas_of_version_1_count_in_nanoseconds)
{
    put("proc/self/cgroup", "4:cpu,cpuacct:/x\n");
    put("sys/fs/cgroup/cpu/x/cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 2500000000\n");
    cr_expect_float_eq(rue_interference_read(temporary_folder).counter[RUE_THROTTLED], 2.5, 1e-9);
}

Test(interference, missing_counters_are_unknown)
{
    struct rue_interference_reading reading = rue_interference_read(temporary_folder);
    cr_expect(isnan(reading.cpu_s) && isnan(reading.counter[RUE_THROTTLED]) &&
              isnan(reading.counter[RUE_HEAT]) && isnan(reading.counter[RUE_WAITED_MEMORY]));
    double shares[RUE_INTERFERENCES];
    rue_interference_rates(&reading, &reading, shares);
    cr_expect(isnan(shares[RUE_STOLEN]) && isnan(shares[RUE_BUSY]));
}

Test(interference, invalid_counters_are_unknown)
{
    static const char *const bad[] = {"",
                                      "cpu",
                                      "cpu  1 2 3\n",
                                      "cpu  a b c d e f g h\n",
                                      "mpu 1",
                                      "cpu  1 1 1 1 1 1 1 -5\n",
                                      "cpu  nan 1 1 1 1 1 1 1\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put("proc/stat", bad[i]);
        put("proc/pressure/cpu", bad[i]);
        put("proc/self/cgroup", bad[i]);
        put("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "hot\n");
        struct rue_interference_reading reading = rue_interference_read(temporary_folder);
        cr_expect(isnan(reading.cpu_s) && isnan(reading.counter[RUE_STOLEN]) &&
                      isnan(reading.counter[RUE_WAITED_CPU]),
                  "%s", bad[i]);
        cr_expect(isnan(reading.counter[RUE_HEAT]));
    }
}

Test(interference, a_counter_that_was_reset_is_ignored)
{
    put("proc/stat", "cpu  100 0 100 700 0 0 0 100 0 0\n");
    struct rue_interference_reading from = rue_interference_read(temporary_folder);
    put("proc/stat", "cpu  10 0 10 70 0 0 0 10 0 0\n");
    struct rue_interference_reading to = rue_interference_read(temporary_folder);
    double shares[RUE_INTERFERENCES];
    rue_interference_rates(&from, &to, shares);
    cr_expect(isnan(shares[RUE_STOLEN]));
}

Test(interference, this_machine_reports_its_cpu_time)
{
    cr_expect_gt(rue_interference_read("").cpu_s, 0);
}
