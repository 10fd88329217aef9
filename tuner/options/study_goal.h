/* What the user requests. Strings are borrowed for the study's life. */
#ifndef RUE_STUDY_GOAL_H
#define RUE_STUDY_GOAL_H

#include "budget.h"
#include "deployment.h"
#include "knob_list.h"
#include "objective.h"
#include "ranking_rules.h"
#include "report.h"
#include "runner_address.h"
#include "source.h"
#include "units.h"

struct rue_recommendation;
struct rue_recommended;

/* The most images of a job that an option may ask for. */
#define RUE_STUDY_JOB_MAX (UINT64_C(1) << 40)

/* The default budget. */
#define RUE_STUDY_BUDGET_NS (120 * RUE_NS_PER_S)

enum { RUE_STUDY_VARIANTS_MAX = 2 * RUE_RANK_NUMBERS_MAX };
_Static_assert((int)RUE_ARGUMENTS_MAX <= (int)RUE_STUDY_VARIANTS_MAX, "each argument may be data");

struct rue_study_goal {
    struct {
        const char *table;              /* of recorded times to replay; NULL: make trials */
        const char *map;                /* names of its columns; nullable */
        size_t count;                   /* 0: the runner's own data */
        const char *const *paths;       /* [count], at most RUE_STUDY_VARIANTS_MAX */
        struct rue_source_options keys; /* names of images and labels */
        bool modes[RUE_MODE_COUNT];
        uint64_t
            sample_images; /* size limit of the converted sample, to compare raw with preprocessed; 0: none */
    } data;
    struct {
        struct rue_runner_address runner;
        struct rue_deployment deployment;
        struct rue_workload workload;
        uint64_t memory_bytes;     /* limit for batches in flight; 0: 4/5 of free memory */
        uint64_t trial_timeout_ns; /* 0: 10 times the expected time, at least 1 min */
    } loader;
    struct {
        const char *names;  /* "resnet18,vit_b_16"; NULL: the runner's, or a default */
        const char *device; /* of models without a device; NULL: the default */
    } models;
    struct {
        struct rue_knob_choices knobs; /* a knob that is not listed has default values */
        bool limits_workers;           /* to `max_workers`; `max_workers_origin`: "--max-workers" */
        int max_workers;
        const char *max_workers_origin;
        const char *baseline;        /* see study_space.h; NULL: none */
        const char *baseline_origin; /* "--baseline", for messages */
        /* Only two curves: all batch sizes at one number of workers, and all numbers of workers at one batch
         * size (rue_study_curves). A comparison of ranks has only the configuration where they cross. */
        bool curves;
    } space;
    struct {
        uint64_t images;     /* J; 0: `batches`, or `epochs` */
        uint64_t batches;    /* J in batches of the largest size in the space; 0: not used */
        uint64_t epochs;     /* J in epochs of the first data; 0: one */
        uint64_t epoch_most; /* limit of J if it is one epoch; 0: none */
    } job;
    struct {
        const char *strategy; /* one of rue_strategies */
        struct rue_budget budget;
        double epsilon_ratio; /* a predicting strategy ends if no configuration can be better by more */
        double confidence;    /* required for epsilon_ratio */
        enum rue_goal minimise;
        uint64_t max_first_batch_ns; /* limit of a recommended configuration; 0: none */
        int repeats;                 /* of each configuration, for strategies without predictions */
        int repeats_most; /* if the program chooses the strategy, and the budget has room; 0: `repeats` */
        struct rue_ranking_rules rules;
        struct rue_recommendation *prior; /* (optional) an earlier study, to start from */
        struct rue_recommended *checked;  /* (optional) its variant to check: the models that exist here, and
                                             the configurations that ran */
    } search;
    struct {
        const char *folder;                      /* NULL: rue-out/<name of the data> */
        const char *name_suffix;                 /* (optional) appended to the default folder */
        bool keep_nothing;                       /* no folder, and a store in memory */
        bool fresh;                              /* starts over */
        bool dry_run;                            /* nothing is written or removed */
        bool accepts_busy;                       /* other programs do not make the answer undecided */
        const struct rue_report *const *reports; /* to write to the folder, NULL at the end */
        const char *command_line;
    } output;
};

#endif
