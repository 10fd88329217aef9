/* How much slower the machine has become since the first trial. Loading and computing may slow down by
 * different amounts: a model that sleeps takes its time whatever happens to the CPUs. Pure. */
#ifndef RUE_SPEED_H
#define RUE_SPEED_H

#include <stdbool.h>
#include <stddef.h>

#include "trial.h"

/* Logarithms of how many times longer things take; zeroed: as at the beginning. */
struct rue_speed {
    double load, compute;
};

struct rue_speed rue_speed_sum(struct rue_speed a, struct rue_speed b);
bool rue_speed_differs(struct rue_speed a, struct rue_speed b);

/* The changes of a machine in the order of their time; zeroed: none. The last of very many stands for those
 * that follow, too. */
enum { RUE_SPEED_CHANGES_MAX = 32 };
struct rue_speed_history {
    size_t count;
    struct rue_speed_change {
        size_t since; /* the first trial that it concerns; trials are numbered as they were made */
        struct rue_speed by;
    } at[RUE_SPEED_CHANGES_MAX];
};

void rue_speed_history_add(struct rue_speed_history *history, size_t since, struct rue_speed by);

/* How slow the machine was when it made the trial; SIZE_MAX: how slow it is now. */
struct rue_speed rue_speed_history_at(const struct rue_speed_history *history, size_t trial);

/* How many times longer an ok joint trial took than it would have taken at the beginning. Where its loader
 * was the slower side (the consumer waited again and again) it shrinks as the loader does, down to what
 * computing takes; else the consumer's time shrinks as the models do, and what is beside it as the loader. A
 * trial that does not tell its parts shrinks as the loader. */
double rue_speed_ratio(struct rue_speed speed, const struct rue_trial_result *result);

#endif
