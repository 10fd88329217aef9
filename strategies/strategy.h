/* A strategy chooses the next trial: ask and tell, deterministic for a seed, no I/O, no clock. */
#ifndef RUE_STRATEGY_H
#define RUE_STRATEGY_H

#include "error.h"
#include "trial.h"

struct rue_strategy_setup {
    size_t scenario_count;
    size_t config_count;
    const struct rue_config *configs; /* [config_count], grid order; borrowed for the strategy's life */
    int repeats;                      /* at least 1 */
    uint64_t seed;
};

struct rue_ask {
    enum rue_measure measure;
    size_t scenario; /* row */
    size_t config;   /* column */
    int repeat;      /* 0, 1, ...: which repeat of this cell it is */
};

struct rue_strategy_ops {
    const char *name;
    const char *help;
    /* `*state` is owned by the caller, who closes it. RUE_USAGE for a setup without a trial; RUE_MEMORY. */
    rue_status (*open)(const struct rue_strategy_setup *setup, void **state, rue_error *error);
    /* False when it has nothing more to ask. One question is open at a time: ask, tell, ask, tell. A question
     * that is never told counts as answered. */
    bool (*ask)(void *state, struct rue_ask *out);
    /* The answer to the last question. A cell whose trial was not ok is not asked for again. (optional) */
    void (*tell)(void *state, const struct rue_ask *ask, const struct rue_trial_result *result);
    void (*close)(void *state); /* of NULL: nothing */
};

extern const struct rue_strategy_ops rue_strategy_grid; /* every cell, in blocks of complete configurations */

/* The known strategies, NULL at the end; the first is the default. */
extern const struct rue_strategy_ops *const rue_strategies[];

/* The strategy of that name, or NULL. */
const struct rue_strategy_ops *rue_strategy_find(const char *name);

#endif
