#include <criterion/criterion.h>
#include <math.h>

#include "causes.h"
#include "temporary_folder.h"

static void put_stat(int busy, int idle, int stolen)
{
    char text[128];
    int length = snprintf(text, sizeof text, "cpu  %d 0 0 %d 0 0 0 %d 0 0\n", busy, idle, stolen);
    temporary_file("proc/stat", text, (size_t)length);
}

static struct rue_causes *open_fake(void)
{
    struct rue_causes *causes;
    put_stat(100, 100, 0);
    cr_assert_eq(rue_causes_open(temporary_folder, &causes, NULL), RUE_OK);
    return causes;
}

TestSuite(causes, .init = temporary_folder_make, .fini = temporary_folder_remove);

Test(causes, counters_that_became_worse_since_a_trial_are_named)
{
    char text[RUE_CAUSES_BYTES];
    struct rue_causes *causes = open_fake();
    for (int i = 1; i <= 10; i++) {
        put_stat(100 + 100 * i, 100, i > 5 ? 40 * (i - 5) : 0);
        cr_assert_eq(rue_causes_record(causes, (size_t)i, NAN, NULL), RUE_OK);
    }
    rue_causes_explain(causes, 6, text);
    cr_expect_str_eq(text, "29 % of the CPU time was stolen by the hypervisor");
    rue_causes_summarise(causes, text);
    cr_expect_str_eq(text, "17 % of the CPU time was stolen by the hypervisor");
    rue_causes_close(causes);
}

Test(causes, counters_that_were_as_bad_before_are_not_a_cause)
{
    char text[RUE_CAUSES_BYTES];
    struct rue_causes *causes = open_fake();
    for (int i = 1; i <= 10; i++) {
        put_stat(100 + 100 * i, 100, 30 * i);
        cr_assert_eq(rue_causes_record(causes, (size_t)i, NAN, NULL), RUE_OK);
    }
    rue_causes_explain(causes, 6, text);
    cr_expect_str_eq(text, "");
    rue_causes_close(causes);
}

static struct rue_causes *judge(int busy, int stolen, int online, int usable, char text[RUE_CAUSES_BYTES])
{
    struct rue_causes *causes = open_fake();
    put_stat(100 + busy, 300, stolen);
    cr_assert_eq(rue_causes_record(causes, 1, 0, NULL), RUE_OK);
    rue_causes_judge(causes, online, usable, text);
    return causes;
}

Test(causes, a_machine_that_others_use_or_steal_from_is_busy)
{
    char text[RUE_CAUSES_BYTES];
    rue_causes_close(judge(0, 0, 2, 2, text));
    cr_expect_str_eq(text, "");
    rue_causes_close(judge(100000, 0, 2, 2, text));
    cr_expect_neq(strstr(text, "other processes used "), NULL, "%s", text);
    rue_causes_close(judge(0, 100, 2, 2, text));
    cr_expect_str_eq(text, "33 % of the CPU time was stolen by the hypervisor");
}

Test(causes, a_machine_with_waiting_processes_is_busy)
{
    char text[RUE_CAUSES_BYTES];
    static const char before[] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
                      after[] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=900000000000\n";
    temporary_file("proc/pressure/io", before, sizeof before - 1);
    struct rue_causes *causes = open_fake();
    temporary_file("proc/pressure/io", after, sizeof after - 1);
    cr_assert_eq(rue_causes_record(causes, 1, 0, NULL), RUE_OK);
    rue_causes_judge(causes, 2, 2, text);
    cr_expect_neq(strstr(text, "processes waited for storage 100 % of the time"), NULL, "%s", text);
    rue_causes_close(causes);
}

Test(causes, processes_on_other_cpus_do_not_count)
{
    char text[RUE_CAUSES_BYTES];
    rue_causes_close(judge(1, 0, 1000000000, 2, text));
    cr_expect_str_eq(text, "");
}

Test(causes, unknown_counters_give_no_cause)
{
    char text[RUE_CAUSES_BYTES];
    struct rue_causes *causes;
    cr_assert_eq(rue_causes_open(temporary_folder, &causes, NULL), RUE_OK);
    rue_causes_explain(causes, 0, text);
    cr_expect_str_eq(text, "");
    cr_assert_eq(rue_causes_record(causes, 1, NAN, NULL), RUE_OK);
    rue_causes_explain(causes, 1, text);
    cr_expect_str_eq(text, "");
    rue_causes_summarise(causes, text);
    cr_expect_str_eq(text, "");
    rue_causes_close(causes);
    rue_causes_close(NULL);
}
