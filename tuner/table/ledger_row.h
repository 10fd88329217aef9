/* A trial in memory, as the ledger of a study and a tally hold it. */
#ifndef RUE_LEDGER_ROW_H
#define RUE_LEDGER_ROW_H

#include "job_time.h"

/* A trial and its cell. Its data, model and workload are those of the setup, or of the tally's group. */
struct rue_ledger_row {
    struct rue_ledger_trial {
        uint64_t id;         /* in the store */
        uint64_t started_ns; /* on the study's clock */
        enum rue_measure measure;
        struct rue_config config;
        uint64_t images, batches;       /* as requested */
        struct rue_trial_result result; /* without its arrays */
        bool disturbed;                 /* see struct rue_trial_row */
    } trial;
    size_t variant, model;    /* model RUE_NONE: without a model */
    size_t config;            /* requested by a strategy, so it counts in matrices; else RUE_NONE */
    double cost_ns;           /* the minimised cost, from an ok joint trial; NaN: unknown */
    bool predicted;           /* cost_ns is extrapolated from a truncated trial */
    struct rue_job_line line; /* its times for jobs of other lengths */
    double error, error_sd;   /* logarithm of measured over expected time, and its standard deviation; 0:
                                 nothing was expected */
    uint64_t suspended_ns;    /* of the clock, when the trial began */
    size_t node;              /* of a farm, from 1; 0: one machine, or an earlier run */
    bool discarded;           /* of a node that was dropped, while it differed */
    bool reference;           /* a reference trial, see watch.h */
    bool stored;              /* by an earlier run */
};

#endif
