/* Studies that start from an earlier one, or check it. */
#include "served_study.h"

TestSuite(study_prior, .init = study_begin, .fini = study_end, .timeout = 120);

static struct rue_recommendation *make_earlier(void)
{
    goal.search.budget.time_ns = served_all_ns() / 3;
    goal.search.strategy = "duel";
    study_succeed();
    struct rue_recommendation *earlier = read_earlier();
    goal.search.prior = earlier;
    goal.output.fresh = true;
    return earlier;
}

Test(study_prior, a_prior_of_this_machine_saves_trials)
{
    goal.search.epsilon_ratio = 0.02;
    struct rue_recommendation *earlier = make_earlier();
    size_t without = served.trials;
    study_succeed();
    cr_assert_lt(served.trials, without);
    cr_assert(
        is_noted("starting from a study of this machine and these data, with its estimates of the loader "
                 "and of 3 of 3 models"));
    cr_assert(study->setup.priors[0].prior.same_machine);
    rue_recommendation_close(earlier);
}

Test(study_prior, a_prior_of_other_data_or_another_machine_is_a_first_guess)
{
    rue_error error = {0};
    struct rue_recommendation *earlier = make_earlier();
    served.opened = "{\"digest\":\"d2\"}";
    cr_assert_eq(study_plan(&error), RUE_OK, "%s", error.message);
    cr_assert(is_noted("a study of this machine, with other data"));
    served.hello = "{\"machine\":{\"usable_cpus\":8}}";
    cr_assert_eq(study_plan(&error), RUE_OK, "%s", error.message);
    cr_assert(is_noted("a study of another machine"));
    cr_assert_not(study->setup.priors[0].prior.same_machine);
    rue_recommendation_close(earlier);
}

Test(study_prior, a_prior_that_does_not_fit_is_reported_and_not_used)
{
    static const struct {
        const char *strategy, *hello, *why;
    } cases[] = {{"grid", NULL, "--strategy grid does not predict"},
                 {"duel", "{\"loader\":\"torch\"}", "it was measured with served, not with torch"},
                 {"duel", "{\"variants\":[{\"path\":\"\",\"mode\":\"preprocessed\",\"format\":\"tensor\"}]}",
                  "it has nothing about preprocessed data"}};
    struct rue_recommendation *earlier = make_earlier();
    goal.search.budget.time_ns *= 100;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rue_error error = {0};
        goal.search.strategy = cases[i].strategy;
        served.hello = cases[i].hello;
        cr_assert_eq(study_plan(&error), RUE_OK, "%s", error.message);
        cr_assert(is_noted(cases[i].why), "%s", cases[i].why);
        cr_assert_not(study->setup.priors[0].used);
    }
    rue_recommendation_close(earlier);
}

/* `rue check` of the earlier study. */
static struct rue_recommendation *begin_check(void)
{
    struct rue_recommendation *earlier = make_earlier();
    goal.search.checked = &earlier->at[0];
    goal.output.fresh = false;
    goal.output.keep_nothing = true;
    return earlier;
}

Test(study_prior, a_check_of_an_unchanged_machine_confirms_the_recommendation)
{
    goal.models.names = "m0"; /* it draws many times for each */
    struct rue_recommendation *earlier = begin_check();
    rue_error error = {0};
    cr_assert_eq(study_plan(&error), RUE_OK, "%s", error.message);
    cr_assert_eq(rue_study_perform(study, &error), RUE_OK, "%s", error.message);
    cr_assert_eq(study->end.ran, RUE_OK, "%s", study->end.why.message);
    cr_assert_str_eq(study->setup.plan.strategy->name, "recheck");
    cr_assert_gt(served.trials, 1);
    cr_assert_eq(study->outcome.recheck.verdict, RUE_RECHECK_HOLDS);
    study_close();
    rue_recommendation_close(earlier);
}

Test(study_prior, a_check_needs_the_runner_and_a_model_of_the_recommendation)
{
    struct rue_recommendation *earlier = begin_check();
    served.hello = "{\"loader\":\"torch\"}";
    study_refuse(RUE_USAGE, "was measured with served, not with torch: give its runner with --runner");
    served.hello = "{\"models\":[\"m2\",\"m9\"]}";
    rue_error error = {0};
    cr_assert_eq(study_plan(&error), RUE_OK, "%s", error.message);
    cr_assert(is_noted("the model m0 is unknown here and is skipped"));
    cr_assert_eq(study->setup.model_count, 1);
    served.hello = "{\"models\":[\"m9\"]}";
    study_refuse(RUE_USAGE, "does not know any model of the recommendation: give it the step m0 (in Python: "
                            "models={\"m0\": step})");
    study_close();
    rue_recommendation_close(earlier);
}
