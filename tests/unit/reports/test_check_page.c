#include "check_page.h"

#include <criterion/criterion.h>
#include <string.h>

static void assert_says(const struct rue_check *check, const char *words)
{
    struct rue_page page = {0};
    rue_page_sentence(&page, RUE_LOOK_PLAIN, 0);
    rue_check_say(&page, check);
    cr_assert(strstr(page.sections[0].text, words), "%s", page.sections[0].text);
    rue_page_close(&page);
}

Test(check_page, on_a_busy_machine_is_unclear)
{
    struct rue_check check = {.findings = {.verdict = RUE_RECHECK_UNSURE, .time_ratio = 2.9}};
    check.config = check.best = rue_config_default();
    assert_says(&check, "may not hold here");
    strcpy(check.changes.busy_before, "other processes used 1.3 CPUs");
    assert_says(&check, "unclear, because other programs use the machine");
    assert_says(&check, "Trials take 2.90 times as long here");
}

Test(check_page, a_caveat_stands_beside_the_answer)
{
    static const enum rue_recheck_verdict verdicts[] = {RUE_RECHECK_HOLDS, RUE_RECHECK_BEATEN};
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        struct rue_check check = {.findings = {.verdict = verdicts[i], .tried = 3, .time_ratio = 1}};
        check.config = check.best = rue_config_default();
        cr_assert(!rue_check_is_disturbed(&check));
        strcpy(check.changes.busy_before, "other processes used 1.3 CPUs");
        assert_says(&check,
                    " because the machine was busy: before the first trial, other processes used 1.3 CPUs");
        check.changes.contention.affected_ratio = 0.6;
        assert_says(&check, "Not reliable: other programs or changes of speed affected 60");
        cr_assert(rue_check_is_disturbed(&check));
    }
}
