/* What a search by predictions consists of: beliefs about every cell, what trials cost, and the questions to
 * be asked. The strategy `duel` asks what decides; a check (recheck.h) asks whether an answer still holds. */
#ifndef RUE_DUEL_H
#define RUE_DUEL_H

#include "forecast.h"
#include "strategy.h"

/* Questions that were decided on and not asked yet, first in, first out. */
struct rue_question_queue {
    struct rue_question *at; /* [count]; those from `next` on are still to be asked */
    size_t next, count, capacity;
};

bool rue_question_queue_is_empty(const struct rue_question_queue *queue);

/* False when it is empty. */
bool rue_question_queue_pop(struct rue_question_queue *queue, struct rue_question *out);

/* How many joint questions are like `ask`: of the same cell and as many images or more; those that were
 * asked count. */
int rue_question_queue_count_same(const struct rue_question_queue *queue, const struct rue_question *ask);

/* ---- costs ---- */

/* What trials cost beside their own time: an overhead each, and a change of model. */
struct rue_trial_costs {
    double spent_s;  /* by trials that were made now */
    double stored_s; /* by those that were made earlier */
    size_t made;     /* trials, now */
    struct rue_trial_cost {
        double mean_s, count;
    } overhead, change; /* of a trial; more, where the model is not that of the trial before */
    bool any_model;
    size_t model; /* of the last trial that had one */
};

void rue_trial_costs_add(struct rue_trial_costs *costs, const struct rue_question *ask,
                         const struct rue_trial_result *result);

/* Seconds beside the own time of a trial of that model next. */
double rue_trial_costs_overhead_s(const struct rue_trial_costs *costs, size_t model);

/* ---- the duel ---- */

struct rue_duel {
    struct rue_strategy_setup setup;
    struct rue_forecast *forecast;
    struct rue_question_queue queue;
    struct rue_question_queue history; /* joint questions that were answered */
    struct rue_trial_costs costs;
    size_t joints; /* joint trials that were ok */
    bool surveys;  /* the first trials are joint ones: the runner makes no others, or trials are few */
    uint64_t seed;
    rue_status status; /* why nothing more is asked: RUE_OK while it goes on */
    rue_error error;
};

/* Opens `duel`, zeros before, in its place: it is not to be moved. RUE_USAGE for a setup without a trial;
 * RUE_MEMORY; to be closed in any case. */
rue_status rue_duel_open(struct rue_duel *duel, const struct rue_strategy_setup *setup,
                         rue_error *error) RUE_MUST_CHECK;
void rue_duel_close(struct rue_duel *duel);

/* The calls below say in `status` when they fail; this tells it. */
rue_status rue_duel_status(const struct rue_duel *duel, rue_error *error) RUE_MUST_CHECK;

/* Notes an answer. */
void rue_duel_observe(struct rue_duel *duel, const struct rue_question *ask,
                      const struct rue_trial_result *result);

/* Updates the prediction and the belief by all trials. */
void rue_duel_update(struct rue_duel *duel);

void rue_duel_push(struct rue_duel *duel, const struct rue_question *ask);
void rue_duel_push_joint(struct rue_duel *duel, size_t model, size_t config, uint64_t images);

/* What is left of the budget: seconds; whether it has no room for so many trials. */
double rue_duel_remaining_s(const struct rue_duel *duel);
bool rue_duel_lacks_trials(const struct rue_duel *duel, size_t wanted);

/* Images of the shortest joint trial that tells anything: some rounds of all workers, whole batches. */
uint64_t rue_duel_shortest_images(const struct rue_duel *duel, size_t config);

/* Seconds that a joint trial may cost, with what it takes beside its own time. */
double rue_duel_cost_s(const struct rue_duel *duel, size_t model, size_t config, uint64_t images);

/* ---- probes ---- */

/* The first ones: load-only trials; in a survey joint ones. */
void rue_duel_push_load_probes(struct rue_duel *duel);

/* After an update: every model's compute. */
void rue_duel_push_compute_probes(struct rue_duel *duel);

/* ---- joint trials ---- */

/* Trials on each model that has not seen the configuration: the seconds that they may cost, with a margin,
 * and how many they are; and asks them. */
double rue_duel_verification_s(const struct rue_duel *duel, size_t config, size_t *trials);
void rue_duel_push_verification(struct rue_duel *duel, size_t config);

/* The leader on every model that has not seen it; where the budget no longer holds that and nothing else
 * could be recommended, the best configuration that it holds. */
void rue_duel_push_best_verification(struct rue_duel *duel);

/* Whole jobs of the best ones on every model, one after the other on each: before that nothing is sure. False
 * where they cost more than `most_s`; true, and nothing is asked, where all were made. */
bool rue_duel_push_finalists(struct rue_duel *duel, double most_s);

/* The trial that decides next and costs no more than `most_s`; nothing where there is none. `far_off`:
 * predictions are, so that every other trial is of what was not measured. `audits`: those so far of any cell.
 */
void rue_duel_push_next(struct rue_duel *duel, double most_s, bool far_off, size_t *audits);

/* Whole jobs of the leader and of the baselines, on each model one after the other, as far as those of the
 * baselines are a small part of the budget: the seconds that may be needed for those that were not run yet,
 * with a margin, and how many these are; and asks them, where there is room. */
double rue_duel_baselines_s(const struct rue_duel *duel, size_t *trials);
void rue_duel_push_baselines(struct rue_duel *duel);

#endif
