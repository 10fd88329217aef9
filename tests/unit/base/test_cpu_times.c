#include <criterion/criterion.h>
#include <math.h>
#include <sched.h>
#include <unistd.h>

#include "cpu_times.h"
#include "temporary_folder.h"

static void put(const char *name, const char *text)
{
    temporary_file(name, text, strlen(text));
}

TestSuite(cpu_times, .init = temporary_folder_make, .fini = temporary_folder_remove);

Test(cpu_times, those_of_usable_cpus_alone_count)
{
    cpu_set_t all, one;
    int first = 0;
    cr_assert_eq(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(first, &all)) first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
    char text[512];
    snprintf(text, sizeof text,
             "cpu  500 0 500 900 100 0 0 300 0 0\ncpu%d 100 10 20 400 50 1 2 30 9 0\n"
             "cpu%d 400 0 480 500 50 0 0 270 0 0\nintr 5\ncpu%d 1 1 1 1 1 1 1 1\n",
             first, first + 1, first);
    put("proc/stat", text);
    double ticks = (double)sysconf(_SC_CLK_TCK);
    struct rue_cpu_times whole = rue_cpu_times_read(temporary_folder, false),
                         usable = rue_cpu_times_read(temporary_folder, true);
    cr_expect_float_eq(whole.busy_s * ticks, 1000, 1e-6);
    cr_expect_float_eq(whole.idle_s * ticks, 1000, 1e-6, "also while it waits for storage");
    cr_expect_float_eq(whole.stolen_s * ticks, 300, 1e-6);
    cr_expect_float_eq(usable.busy_s * ticks, 133, 1e-6);
    cr_expect_float_eq(usable.idle_s * ticks, 450, 1e-6);
    cr_expect_float_eq(usable.stolen_s * ticks, 30, 1e-6);
}

Test(cpu_times, a_file_that_is_not_the_kernels_is_unknown)
{
    static const char *const texts[] = {"", "cpu 1 2\n", "cpu  1 2 3 4 five 6 7 8\n",
                                        "cpux 1 2 3 4 5 6 7 8\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put("proc/stat", texts[i]);
        cr_expect(isnan(rue_cpu_times_read(temporary_folder, false).idle_s), "%s", texts[i]);
        cr_expect(isnan(rue_cpu_times_read(temporary_folder, true).idle_s), "%s", texts[i]);
    }
    put("proc/pressure/cpu", "full avg10=0 total=9\n");
    cr_expect(isnan(rue_pressure_s(temporary_folder, "cpu")) &&
              isnan(rue_pressure_s(temporary_folder, "io")));
}
