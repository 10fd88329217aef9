#include <criterion/criterion.h>
#include <string.h>

#include "ranking_options.h"

static const char *const models[] = {"resnet18", "vit_b_16", "sleep:2ms=x"};

static rue_status weigh(struct rue_ranking_rules *rules, const char *text, rue_error *error)
{
    *rules = (struct rue_ranking_rules){.top_n = 3};
    rue_status status = rue_ranking_rules_read_weights(rules, text, "--weights", error);
    return status == RUE_OK ? rue_ranking_rules_check(rules, models, 3, error) : status;
}

Test(ranking_rules, models_that_are_not_named_weigh_one)
{
    struct rue_ranking_rules rules;
    cr_assert_eq(weigh(&rules, " resnet18=3 , sleep:2ms=x=0.25", NULL), RUE_OK);
    cr_assert_eq(rue_ranking_rules_weight(&rules, "resnet18"), 3);
    cr_assert_eq(rue_ranking_rules_weight(&rules, "vit_b_16"), 1);
    cr_assert_eq(rue_ranking_rules_weight(&rules, "sleep:2ms=x"), 0.25, "behind the last '='");
    rue_ranking_rules_close(&rules);
    cr_assert_eq(rue_ranking_rules_weight(&rules, "resnet18"), 1);
}

Test(ranking_rules, no_weights_means_equal_weights)
{
    struct rue_ranking_rules rules;
    cr_assert_eq(weigh(&rules, NULL, NULL), RUE_OK);
    cr_assert_eq(rules.weight_count, 0);
    rue_ranking_rules_close(&rules);
}

Test(ranking_rules, an_invalid_weight_is_refused)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"resnet18", "'resnet18' is not MODEL=WEIGHT"},
        {"=3", "'=3' is not MODEL=WEIGHT"},
        {"resnet18=3,,vit_b_16=1", "'' is not MODEL=WEIGHT"},
        {"resnet18=", "'' is not a number from"},
        {"resnet18=0", "'0' is not a number from"},
        {"resnet18=-1", "'-1' is not a number from"},
        {"resnet18=inf", "'inf' is not a number from"},
        {"resnet18=nan", "'nan' is not a number from"},
        {"resnet18=1e9", "'1e9' is not a number from"},
        {"resnet18=1e999", "'1e999' is not a number from"},
        {"resnet18=0x10", "'0x10' is not a number from"},
        {"resnet18=1.2.3", "'1.2.3' is not a number from"},
        {"resnet18=3,resnet18=3", "resnet18 is named twice"},
        {"resnet81=3", "'resnet81' is not one of the models: did you mean 'resnet18'?"},
        {"ape=3", "'ape' is not one of the models"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rue_ranking_rules rules;
        rue_error error = {0};
        cr_assert_eq(weigh(&rules, bad[i].text, &error), RUE_USAGE, "%s", bad[i].text);
        cr_assert(strstr(error.message, bad[i].message) && strstr(error.message, "--weights: "), "%s: %s",
                  bad[i].text, error.message);
        rue_ranking_rules_close(&rules);
    }
}
