#include "study_choice.h"

#include <math.h>
#include <string.h>

#include "study_clock.h"
#include "study_costs.h"
#include "study_space.h"
#include "units.h"
#include "watch.h"

enum { FEW_CONFIGS = 4, TIME_BYTES = 32 };

/* Of the budget, that measuring everything may take; and where it is so few that predicting costs as much. */
static const double comfortable_share = 0.5, few_share = 2;

static rue_status choose(struct rue_study *study, const char *name)
{
    study->strategy = rue_strategy_find(name);
    return RUE_OK;
}

static const char *duration(double s, char out[TIME_BYTES])
{
    return rue_format_duration((uint64_t)(fmin(s, 1e9) * 1e9), out, TIME_BYTES);
}

static rue_status choose_by_trials(struct rue_study *study)
{
    size_t all = rue_study_config_count(study) * study->model_count * study->variant_count *
                 (size_t)study->goal->repeats;
    size_t budget = study->goal->budget.trials;
    bool fits = all <= rue_watch_spares(study, budget);
    snprintf(study->strategy_why, sizeof study->strategy_why,
             "measuring everything takes %zu trials, and the budget %s", all,
             fits            ? "has room for them"
             : all <= budget ? "has no room for references beside them"
                             : "does not have that many");
    return choose(study, fits ? "grid" : "duel");
}

/* What everything takes is known from below first, from one short trial a variant, as a search may find the
 * time for more of them too long. */
static rue_status choose_by_time(struct rue_study *study, rue_error *error)
{
    double budget_s = (double)study->goal->budget.time_ns / 1e9;
    bool few = rue_study_config_count(study) <= FEW_CONFIGS;
    double share = few ? few_share : comfortable_share;
    char all[TIME_BYTES], budget[TIME_BYTES];
    rue_status status = rue_study_probe_least(study, error);
    bool sure = rue_study_whole_s(study) > share * budget_s;
    if (status == RUE_OK && !sure) status = rue_study_probe(study, error);
    if (status != RUE_OK) return status;
    double all_s = rue_study_whole_s(study), left_s = budget_s - (double)rue_study_spent_ns(study) / 1e9;
    bool fits = !sure && all_s <= share * left_s;
    snprintf(study->strategy_why, sizeof study->strategy_why,
             "%smeasuring everything takes %s %s, and the budget is %s",
             few ? "there are few configurations; " : "", sure ? "at least" : "about", duration(all_s, all),
             duration(budget_s, budget));
    return choose(study, fits ? "grid" : "duel");
}

rue_status rue_study_choose_strategy(struct rue_study *study, rue_error *error)
{
    if (study->goal->minimise != RUE_GOAL_TIME) {
        snprintf(study->strategy_why, sizeof study->strategy_why,
                 "nothing but the time of the job is predicted");
        return choose(study, "grid");
    }
    return study->goal->budget.trials ? choose_by_trials(study) : choose_by_time(study, error);
}
