/* A strategy chooses the next trial by the ask-and-observe interface. Deterministic for a
 * seed, no I/O, no clock. */
#ifndef RUE_STRATEGY_H
#define RUE_STRATEGY_H

#include <stdbool.h>

#include "error.h"
#include "knowledge.h"
#include "question.h"
#include "recheck.h"
#include "slowdown.h"

struct rue_strategy_ops {
    const char *name;
    const char *help;
    /* The caller owns and closes `*state`. RUE_USAGE for a setup without a trial; RUE_MEMORY. */
    rue_status (*open)(const struct rue_strategy_setup *setup, void **state, rue_error *error);
    /* Asks the next question. `node`: the machine that will answer it, from 1, while others answer theirs; 0:
     * the only machine. False: no question before the next result; the search has ended if no result is due.
     * With one machine, a question may remain without a result. */
    bool (*ask)(void *state, size_t node, struct rue_question *out);
    /* Drops a node, which makes no more trials. Its question gets no result, and its trials from `since` on
     * no longer count. (optional: absent in a strategy for one machine) */
    void (*drop)(void *state, size_t node, size_t since);
    /* Observes the result of a question, with a known cost_ns. After a trial that was not ok, its cell is not
     * asked again, unless rue_question_is_repeated. (optional) */
    void (*observe)(void *state, const struct rue_question *question, const struct rue_trial_result *result);
    /* The estimate of a cell; false before there are predictions. (optional, both or none) */
    bool (*estimate)(void *state, size_t scenario, size_t config, struct rue_estimate *out);
    /* The claim about `config` from all trials; SIZE_MAX: about the recommended one. */
    bool (*claim)(void *state, size_t config, struct rue_claim *out);
    /* A claim about the recommended one from some trials ago, to show progress; false before there are
     * predictions. (optional) */
    bool (*interim)(void *state, struct rue_claim *out);
    /* Whether the prior's recommendation still holds. (optional) */
    rue_status (*judge)(void *state, struct rue_recheck_findings *out, rue_error *error);
    /* The knowledge for a later study, closed by the caller; NULL before there is any. RUE_MEMORY.
     * (optional) */
    rue_status (*knowledge)(const void *state, struct rue_knowledge **out, rue_error *error);
    /* Why the search has ended: RUE_OK if it is complete. (optional) */
    rue_status (*status)(void *state, rue_error *error);
    /* Predicts the time of a joint trial made now, and the standard deviation of its logarithm; false before
     * there are predictions. (optional) */
    bool (*expect)(void *state, const struct rue_question *question, double *time_s, double *sd);
    /* From that trial on, the machine is slower by `change`. (optional: absent in a strategy without
     * predictions) */
    void (*shift)(void *state, size_t trial, struct rue_speed change);
    /* Subtracts what the study spent on other trials from the node's budget (node 0: one machine). (optional)
     */
    void (*spend)(void *state, size_t node, double seconds, size_t trials);
    /* Sets the part of the budget that the strategy still needs for a recommendation, if any. (optional) */
    void (*reserve)(void *state, double *seconds, size_t *trials);
    /* Predicted seconds of a job of `images` in a cell that has an estimate; NaN: unknown. (optional) */
    double (*job_s)(void *state, size_t scenario, size_t config, uint64_t images);
    void (*close)(void *state); /* NULL is allowed */
};

extern const struct rue_strategy_ops rue_strategy_grid; /* every cell, in blocks of complete configurations */
extern const struct rue_strategy_ops rue_strategy_duel; /* model-based, by top-two sampling */
extern const struct rue_strategy_ops rue_strategy_recheck; /* checks a recommendation; not selectable */

/* The selectable strategies, NULL at the end. */
extern const struct rue_strategy_ops *const rue_strategies[];
extern const char *const rue_strategy_names[]; /* RUE_STRATEGY_AUTO, then their names in the same order */

/* The caller chooses the strategy from costs and budget. */
#define RUE_STRATEGY_AUTO "auto"

/* The strategy of that name, or NULL, also for RUE_STRATEGY_AUTO. */
const struct rue_strategy_ops *rue_strategy_find(const char *name);

#endif
