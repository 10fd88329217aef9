#include "survey.h"

#include <math.h>
#include <stdlib.h>

#include "probes.h"

static const double probes_share = 0.5; /* of what is left of the budget */

struct rue_survey {
    const struct rue_strategy_setup *setup;
    bool *failed;  /* [configs] for some model */
    uint64_t *ran; /* [models][configs] images of the longest trial that was ok */
    bool *told;    /* [models] by an ok trial */
    size_t config; /* of the first trials */
};

rue_status rue_survey_open(const struct rue_strategy_setup *setup, struct rue_survey **out, rue_error *error)
{
    struct rue_survey *survey = calloc(1, sizeof *survey);
    if (!survey) return rue_fail_memory(error, "a survey", sizeof *survey);
    survey->setup = setup;
    survey->failed = calloc(setup->config_count, sizeof *survey->failed);
    survey->ran = calloc(setup->scenario_count * setup->config_count, sizeof *survey->ran);
    survey->told = calloc(setup->scenario_count, sizeof *survey->told);
    if (!survey->failed || !survey->ran || !survey->told) {
        rue_survey_close(survey);
        return rue_fail_memory(error, "a survey", setup->config_count + setup->scenario_count);
    }
    *out = survey;
    return RUE_OK;
}

void rue_survey_close(struct rue_survey *survey)
{
    if (!survey) return;
    free(survey->failed);
    free(survey->ran);
    free(survey->told);
    free(survey);
}

static uint64_t *ran_of(const struct rue_survey *survey, const struct rue_ask *ask)
{
    return &survey->ran[ask->scenario * survey->setup->config_count + ask->config];
}

void rue_survey_tell(struct rue_survey *survey, const struct rue_ask *ask, bool ok)
{
    uint64_t *ran = ran_of(survey, ask);
    if (ok && ask->images > *ran) *ran = ask->images;
    if (ok)
        survey->told[ask->scenario] = true;
    else
        survey->failed[ask->config] = true;
}

rue_status rue_survey_push_first(struct rue_survey *survey, struct rue_ask_queue *queue, rue_error *error)
{
    struct rue_ask ask;
    rue_status status = RUE_OK;
    if (!rue_probes_middle(survey->setup, survey->failed, &ask)) return RUE_OK;
    survey->config = ask.config;
    for (size_t m = 0; status == RUE_OK && m < survey->setup->scenario_count; m++) {
        if (survey->told[m]) continue;
        ask.scenario = m;
        status = rue_ask_queue_push(queue, &ask, error);
    }
    return status;
}

/* What may still be spent on probes. */
struct purse {
    const struct rue_strategy_setup *setup;
    const struct rue_prediction *prediction;
    const struct rue_trial_costs *costs;
    double left_s;
    size_t left; /* trials */
};

static double cost_s(const struct purse *purse, const struct rue_ask *ask)
{
    return rue_prediction_trial_s(purse->prediction, ask->scenario, ask->config, ask->images) +
           rue_trial_costs_overhead_s(purse->costs, RUE_JOINT, &purse->setup->configs[ask->config]) +
           rue_trial_costs_switch_s(purse->costs, ask->scenario);
}

/* Pushes the trial where it is affordable, and tells something new. */
static rue_status push(const struct rue_survey *survey, struct purse *purse, struct rue_ask ask,
                       struct rue_ask_queue *queue, rue_error *error)
{
    double cost = cost_s(purse, &ask);
    bool known = ask.config == survey->config || *ran_of(survey, &ask) >= ask.images;
    if (known || survey->failed[ask.config] || !(cost <= purse->left_s) || purse->left == 0) return RUE_OK;
    purse->left_s -= cost;
    purse->left--;
    return rue_ask_queue_push(queue, &ask, error);
}

/* The model that takes least of a joint trial. */
static size_t lightest(const struct rue_survey *survey, const struct purse *purse, struct rue_ask ask)
{
    size_t best = 0;
    double least_s = INFINITY;
    for (ask.scenario = 0; ask.scenario < survey->setup->scenario_count; ask.scenario++) {
        double trial_s = rue_prediction_trial_s(purse->prediction, ask.scenario, ask.config, ask.images);
        if (trial_s >= least_s) continue;
        least_s = trial_s;
        best = ask.scenario;
    }
    return best;
}

/* Trials for probes: those for the verification aside, half of what is left. */
static size_t probes_left(const struct rue_strategy_setup *setup, const struct rue_trial_costs *costs)
{
    size_t gone = costs->made + setup->scenario_count;
    if (setup->budget_trials == 0) return SIZE_MAX;
    return gone < setup->budget_trials ? (size_t)(probes_share * (double)(setup->budget_trials - gone)) : 0;
}

rue_status rue_survey_push_second(const struct rue_survey *survey, const struct rue_prediction *prediction,
                                  const struct rue_trial_costs *costs, double left_s,
                                  struct rue_ask_queue *queue, rue_error *error)
{
    struct rue_ask first, small, twin, probes[RUE_PROBES_LOAD_MAX];
    struct purse purse = {survey->setup, prediction, costs, left_s, probes_left(survey->setup, costs)};
    const struct rue_strategy_setup *setup = survey->setup;
    if (!rue_probes_middle(setup, survey->failed, &first) || !rue_probes_small(setup, survey->failed, &small))
        return RUE_OK;
    for (first.scenario = 0; first.scenario < setup->scenario_count; first.scenario++)
        purse.left_s -= cost_s(&purse, &first);
    purse.left_s *= probes_share;
    rue_status status = RUE_OK;
    /* What the first trials told, they told of batches that lie as theirs did. */
    for (size_t m = 0; status == RUE_OK && !setup->measures[RUE_COMPUTE] && m < setup->scenario_count; m++) {
        first.scenario = m;
        if (rue_probes_twin(setup, &first, &twin)) status = push(survey, &purse, twin, queue, error);
    }
    size_t light = lightest(survey, &purse, first), count = rue_probes_load(setup, probes);
    for (size_t i = 0; status == RUE_OK && i < count; i++) {
        probes[i].measure = RUE_JOINT;
        probes[i].scenario = light;
        status = push(survey, &purse, probes[i], queue, error);
    }
    for (size_t m = 0; status == RUE_OK && !setup->measures[RUE_COMPUTE] && m < setup->scenario_count; m++) {
        small.scenario = m;
        status = push(survey, &purse, small, queue, error);
    }
    return status;
}
