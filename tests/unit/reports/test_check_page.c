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
    check.busy = true;
    assert_says(&check, "unclear, because other programs use the machine");
    assert_says(&check, "Trials take 2.90 times as long here");
}
