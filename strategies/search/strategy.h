/* A strategy chooses the next trial: ask and tell, deterministic for a seed, no I/O, no clock. */
#ifndef RUE_STRATEGY_H
#define RUE_STRATEGY_H

#include <stdbool.h>

#include "error.h"
#include "question.h"
#include "recheck.h"

struct rue_strategy_ops {
    const char *name;
    const char *help;
    /* `*state` is owned by the caller, who closes it. RUE_USAGE for a setup without a trial; RUE_MEMORY. */
    rue_status (*open)(const struct rue_strategy_setup *setup, void **state, rue_error *error);
    /* False when it has nothing more to ask. One question is open at a time: ask, tell, ask, tell. A question
     * that is never told counts as answered. */
    bool (*ask)(void *state, struct rue_question *out);
    /* The answer to the last question; its cost_ns is known. A cell whose trial was not ok is not asked for
     * again. (optional) */
    void (*observe)(void *state, const struct rue_question *ask, const struct rue_trial_result *result);
    /* False before it knows enough. (optional, both or none) */
    bool (*estimate)(void *state, size_t scenario, size_t config, struct rue_estimate *out);
    /* Of `config`, or of its own choice where that is SIZE_MAX. */
    bool (*claim)(void *state, size_t config, struct rue_claim *out);
    /* Whether what the prior recommended still holds: for strategies that check it. (optional) */
    rue_status (*judge)(void *state, struct rue_recheck_findings *out, rue_error *error);
    /* What a later study may start from, closed by the caller; RUE_OK with NULL before it knows enough.
     * RUE_MEMORY. (optional) */
    rue_status (*knowledge)(const void *state, struct rue_knowledge **out, rue_error *error);
    /* Why it asks nothing more: RUE_OK where it has done its work. (optional) */
    rue_status (*status)(void *state, rue_error *error);
    /* What the joint trial `ask` is expected to take now, and the standard deviation of its logarithm; false
     * where nothing is known. (optional) */
    bool (*expect)(void *state, const struct rue_question *ask, double *time_s, double *sd);
    /* From the trial of that number on, the machine was slower by `change`. Without it the strategy predicts
     * nothing. (optional) */
    void (*shift)(void *state, size_t trial, struct rue_speed change);
    /* The study spent that of the budget on something else, so many trials. (optional) */
    void (*spend)(void *state, double seconds, size_t trials);
    /* Sets what of the budget it needs to recommend anything, where it needs anything more. (optional) */
    void (*reserve)(void *state, double *seconds, size_t *trials);
    /* Seconds of a job of `images` in a cell that has an estimate, as it is believed now; NaN where that is
     * not known. (optional) */
    double (*job_s)(void *state, size_t scenario, size_t config, uint64_t images);
    void (*close)(void *state); /* of NULL: nothing */
};

extern const struct rue_strategy_ops rue_strategy_grid; /* every cell, in blocks of complete configurations */
extern const struct rue_strategy_ops rue_strategy_duel; /* predicts, and measures what decides */
extern const struct rue_strategy_ops rue_strategy_recheck; /* checks what a prior recommends; has no name */

/* The known strategies, NULL at the end. */
extern const struct rue_strategy_ops *const rue_strategies[];
extern const char *const rue_strategy_names[]; /* RUE_STRATEGY_AUTO and those of them, in their order */

/* Stands for the one that suits, which only who knows costs and budget can tell. */
#define RUE_STRATEGY_AUTO "auto"

/* The strategy of that name, or NULL; of RUE_STRATEGY_AUTO NULL. */
const struct rue_strategy_ops *rue_strategy_find(const char *name);

#endif
