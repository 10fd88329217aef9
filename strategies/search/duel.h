/* State and steps of the model-based search: the forecast, the costs of trials, and the queue of questions.
 * Used by the strategy `duel` and by the check of an earlier recommendation (recheck.h). */
#ifndef RUE_DUEL_H
#define RUE_DUEL_H

#include "forecast.h"
#include "strategy.h"

/* A FIFO queue of questions. */
struct rue_question_queue {
    struct rue_question *at; /* [count]; those from `next` on are queued */
    size_t next, count, capacity;
};

bool rue_question_queue_is_empty(const struct rue_question_queue *queue);

/* Removes the next question that the node may answer, and reserves the rest of its block for the node. False:
 * there is none. */
bool rue_question_queue_pop(struct rue_question_queue *queue, size_t node, struct rue_question *out);

/* Counts questions about the same cell with at least as many images, including those that were asked. */
int rue_question_queue_count_same(const struct rue_question_queue *queue,
                                  const struct rue_question *question);

/* ---- costs ---- */

/* The overhead of trials beside their own time: a mean per trial, and more after a change of model. */
struct rue_trial_costs {
    double spent_s;     /* by new trials */
    double stored_s;    /* by stored trials */
    size_t new_trials;  /* new trials */
    size_t node_trials; /* that compare several nodes */
    struct rue_trial_cost {
        double mean_s, count;
    } overhead, change; /* per trial; per change of model, in addition */
    struct rue_node_costs {
        double spent_s; /* by the node */
        bool any_model;
        size_t model; /* of its last trial with a model */
    } nodes[RUE_NODES_MAX + 1];
};

void rue_trial_costs_add(struct rue_trial_costs *costs, const struct rue_question *question,
                         const struct rue_trial_result *result);

/* Expected overhead of the node's next trial, in seconds, if it is of that model. */
double rue_trial_costs_overhead_s(const struct rue_trial_costs *costs, size_t node, size_t model);

/* ---- the search ---- */

/* A machine that makes trials. Number 0 is the only one unless setup.runner.nodes > 0. */
struct rue_duel_node {
    bool dropped;
    bool busy; /* `question` is being answered; unused for number 0 */
    struct rue_question question;
};

struct rue_duel {
    struct rue_strategy_setup setup;
    struct rue_duel_node nodes[RUE_NODES_MAX + 1];
    size_t node;   /* that makes the next trial */
    size_t blocks; /* so far */
    struct rue_forecast *forecast;
    struct rue_question_queue queue;
    struct rue_question_queue history; /* joint questions with results */
    struct rue_trial_costs costs;
    size_t joints; /* ok joint trials */
    bool surveys;  /* the first trials are joint: the runner makes no others, or the budget has few trials */
    uint64_t seed;
    rue_status status; /* not RUE_OK: why the search has ended */
    rue_error error;
};

/* Opens `duel`, which is zeroed and must not be moved. RUE_USAGE for a setup without a cell; RUE_MEMORY.
 * Close it in any case. */
rue_status rue_duel_open(struct rue_duel *duel, const struct rue_strategy_setup *setup,
                         rue_error *error) RUE_MUST_CHECK;
void rue_duel_close(struct rue_duel *duel);

/* Returns the first failure of the functions below. */
rue_status rue_duel_status(const struct rue_duel *duel, rue_error *error) RUE_MUST_CHECK;

/* The number of nodes that make trials, at least 1 if setup.runner.nodes is 0. */
size_t rue_duel_node_count(const struct rue_duel *duel);

/* Whether a question, or one of load or compute trials, is being answered. */
bool rue_duel_is_waiting(const struct rue_duel *duel);
bool rue_duel_is_probing(const struct rue_duel *duel);

/* Drops a node, which makes no more trials. Its open question is asked again. Its trials from `since` on and
 * all its failures are discarded; true: there were any. */
bool rue_duel_drop(struct rue_duel *duel, size_t node, size_t since);

/* Records the result of a question. */
void rue_duel_observe(struct rue_duel *duel, const struct rue_question *question,
                      const struct rue_trial_result *result);

/* Updates the forecast by all trials. */
void rue_duel_update(struct rue_duel *duel);

void rue_duel_push(struct rue_duel *duel, const struct rue_question *question);
void rue_duel_push_joint(struct rue_duel *duel, size_t model, size_t config, uint64_t images, size_t block);

/* Seconds: the budget of all nodes; what remains of it after the trials that are being made; the most that
 * the node's next trial may cost. Whether fewer than `requested` trials remain in a budget of trials. */
double rue_duel_budget_s(const struct rue_duel *duel);
double rue_duel_remaining_s(const struct rue_duel *duel);
double rue_duel_node_remaining_s(const struct rue_duel *duel);
bool rue_duel_lacks_trials(const struct rue_duel *duel, size_t requested);

/* Images of the shortest informative joint trial: some rounds of all workers, in whole batches. */
uint64_t rue_duel_shortest_images(const struct rue_duel *duel, size_t config);

/* Expected cost of a joint trial in seconds, with its overhead. */
double rue_duel_cost_s(const struct rue_duel *duel, size_t model, size_t config, uint64_t images);

/* ---- probes ---- */

/* Queues the load probes; in a survey, joint trials. */
void rue_duel_push_load_probes(struct rue_duel *duel);

/* Queues the compute probes of every model, after an update. */
void rue_duel_push_compute_probes(struct rue_duel *duel);

/* ---- joint trials ---- */

/* Verification: a joint trial of the configuration on each model where it has none. The first function
 * returns its cost in seconds, with a margin, and its number of trials; the second queues it. */
double rue_duel_verification_s(const struct rue_duel *duel, size_t config, size_t *trials);
void rue_duel_push_verification(struct rue_duel *duel, size_t config);

/* Whether the budget suffices for it, without the margin. */
bool rue_duel_can_verify(const struct rue_duel *duel, size_t config);

/* The configuration with the cheapest verification, of the leader and those that are hardly worse. */
size_t rue_duel_to_verify(const struct rue_duel *duel);

/* Queues one trial of the verification of that configuration; if no configuration is verified, of the best
 * one for which the budget suffices. */
void rue_duel_push_best_verification(struct rue_duel *duel);

/* Whole jobs of the finalists, alternating, on every model. They confirm the answer before an early stop.
 * Several nodes also run them before the budget ends, if they cost a small part of it: the first function
 * returns the seconds to reserve for this, with a margin, and adds the number of jobs. The second function
 * queues the jobs that have not run; false: they cost more than `limit_s`. */
double rue_duel_finalists_s(const struct rue_duel *duel, size_t *trials);
bool rue_duel_push_finalists(struct rue_duel *duel, double limit_s);

/* Of the trials that cost at most `limit_s`, queues the one with the largest expected reduction of variance
 * per second. `miscalibrated`: predictions are far off, so half of the trials are audits of unmeasured cells.
 * `audits`: the number so far. */
void rue_duel_push_next(struct rue_duel *duel, double limit_s, bool miscalibrated, size_t *audits);

/* Whole jobs of the leader and of the baselines, alternating, on every model, if the baselines cost a small
 * part of the budget. The first function returns the cost in seconds of the jobs not run yet, with a
 * margin, and their number. The second queues them if the budget suffices. */
double rue_duel_baselines_s(const struct rue_duel *duel, size_t *trials);
void rue_duel_push_baselines(struct rue_duel *duel);

#endif
