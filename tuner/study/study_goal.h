/* What the user asks for. Strings are borrowed for the study's life. */
#ifndef RUE_STUDY_GOAL_H
#define RUE_STUDY_GOAL_H

#include "budget.h"
#include "knob_list.h"
#include "objective.h"
#include "ranking_rules.h"
#include "recommendation_file.h"
#include "report.h"
#include "source.h"
#include "units.h"

/* The budget of time where none is given. */
#define RUE_STUDY_BUDGET_NS (120 * RUE_NS_PER_S)

struct rue_study_goal {
    struct {
        const char *table;              /* of recorded times, which are replayed; NULL: trials are made */
        const char *map;                /* what its columns are called; nullable */
        size_t count;                   /* 0: what the runner brings along */
        const char *const *paths;       /* [count], at most RUE_STUDY_VARIANTS_MAX */
        struct rue_source_options keys; /* what they call images and labels */
        bool modes[RUE_MODE_COUNT];
        uint64_t sample_images; /* at most so many are converted to compare preprocessed with raw; 0: none */
    } data;
    struct {
        const char *runner; /* a shell command; NULL: our own */
        const char *gpus;   /* a loader for each of these, at once, see gpu_list.h; NULL: one loader. The
                               workload's world_size is how many they are */
        struct rue_workload workload;
        uint64_t memory_bytes;     /* for batches in flight; 0: four fifths of what is free */
        uint64_t trial_timeout_ns; /* 0: ten times what a trial is expected to take, at least a minute */
    } loader;
    struct {
        const char *names;  /* "resnet18,vit_b_16"; NULL: the runner's, or a default */
        const char *device; /* of models that name none; NULL: the usual one */
    } models;
    struct {
        struct rue_knob_choices knobs; /* of those that are not named: a default */
        bool limits_workers;           /* to `max_workers`, which `max_workers_origin` said */
        int max_workers;
        const char *max_workers_origin;
        const char *baseline;        /* what people use anyway, see study_space.h; NULL: nothing */
        const char *baseline_origin; /* what gave it, "--baseline": for messages */
        /* Only the points of two curves: all batch sizes with the same workers, and all workers with the same
         * batch size, those of the space that are nearest to usual ones. */
        bool curves;
    } space;
    struct {
        uint64_t images;     /* J; 0: one epoch, or `batches` */
        uint64_t batches;    /* J as batches of the largest size that is looked at; 0: not said so */
        uint64_t epoch_most; /* where J is one epoch: at most so many images of it; 0: all */
    } job;
    struct {
        const char *strategy; /* one of rue_strategies */
        struct rue_budget budget;
        double epsilon_ratio; /* a strategy that predicts ends where no configuration can be better by more */
        double confidence;    /* of mean regret, with this confidence */
        enum rue_goal minimise;
        uint64_t max_first_batch_ns; /* what comes later is not recommended; 0: whenever it comes */
        int repeats;
        struct rue_ranking_rules rules;
        struct rue_recommendation *prior; /* (optional) an earlier study, to start from */
        struct rue_recommended *checked;  /* (optional) the part of it that is checked: its models, those that
                                             there are, and its configurations, those that ran */
    } search;
    struct {
        const char *folder;                      /* NULL: rue-out/<name of the data> */
        const char *name_suffix;                 /* (optional) of the folder, where `folder` is NULL */
        bool keep_nothing;                       /* no folder, and a store in memory */
        bool fresh;                              /* starts over */
        bool dry_run;                            /* nothing is written or removed */
        const struct rue_report *const *reports; /* that are written to the folder, NULL at the end */
        const char *command_line;
    } output;
};

#endif
