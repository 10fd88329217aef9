#include <criterion/criterion.h>

#include "budget.h"

static struct rue_budget parse(const char *text)
{
    struct rue_budget budget;
    cr_assert(rue_budget_parse(text, &budget), "%s is a budget", text);
    return budget;
}

Test(budget, a_time_or_a_number_of_trials)
{
    cr_assert_eq(parse("2m").time_ns, UINT64_C(120000000000));
    cr_assert_eq(parse("2m").trials, 0);
    cr_assert_eq(parse("500trials").trials, 500);
    cr_assert_eq(parse("500trials").time_ns, 0);
    cr_assert_eq(parse("1trial").trials, 1);
    cr_assert_eq(parse("1000000000trials").trials, 1000000000);
}

Test(budget, other_texts_are_refused)
{
    static const char *const texts[] = {"",
                                        "500",
                                        "0s",
                                        "0trials",
                                        "trials",
                                        "-5trials",
                                        "+5trials",
                                        " 5trials",
                                        "5 trials",
                                        "5trialss",
                                        "1.5trials",
                                        "1e3trials",
                                        "1000000001trials",
                                        "nan",
                                        "inf",
                                        "99999999999999999999999trials"};
    struct rue_budget budget;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cr_assert_not(rue_budget_parse(texts[i], &budget), "'%s' must be refused", texts[i]);
}

Test(budget, is_printed_in_its_own_unit)
{
    char text[64];
    cr_assert_str_eq(rue_budget_format(&(struct rue_budget){.trials = 1500}, text, sizeof text),
                     "1,500 trials");
    cr_assert_str_eq(rue_budget_format(&(struct rue_budget){.trials = 1}, text, sizeof text), "1 trial");
    cr_assert_str_eq(rue_budget_format(&(struct rue_budget){.time_ns = 5000000000}, text, sizeof text),
                     "5 s");
}

Test(budget, a_share_of_a_table)
{
    char text[64];
    cr_assert_float_eq(parse("10%").share, 0.1, 1e-12);
    cr_assert_float_eq(parse("0.5%").share, 0.005, 1e-12);
    cr_assert(parse("10%").trials == 0 && parse("10%").time_ns == 0 && parse("2m").share == 0);
    static const char *const texts[] = {"0%", "-1%", "%", "10 %%", "1e9%", "nan%"};
    struct rue_budget budget;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cr_assert_not(rue_budget_parse(texts[i], &budget), "'%s' must be refused", texts[i]);
    cr_assert_str_eq(rue_budget_format(&(struct rue_budget){.share = 0.125}, text, sizeof text), "12.5 %");
}
