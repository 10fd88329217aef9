/* What a study has opened and decided: constant once it is planned. */
#ifndef RUE_STUDY_SETUP_H
#define RUE_STUDY_SETUP_H

#include <limits.h>

#include "findings.h"
#include "part.h"
#include "profile.h"
#include "progress.h"
#include "recording.h"
#include "runners.h"
#include "store.h"
#include "strategy.h"
#include "study_goal.h"

enum { RUE_STUDY_MODELS_MAX = 64 };

struct rue_study_variant {
    struct rue_variant variant;
    struct rue_workload workload; /* as the runner will really run it */
    struct rue_opened opened;
    uint64_t job_images; /* J */
    bool sample;
    double build_s_per_image;
};

struct rue_study_model {
    char name[RUE_MODEL_NAME_BYTES];
    bool known; /* `profile` has its times; else only the runner knows them, or they are not measured yet */
    struct rue_profile profile;
    char profile_json[RUE_PROFILE_JSON_BYTES];
};

/* Configurations that people use by default, with which the best one is compared. */
struct rue_study_baselines {
    size_t count;
    struct rue_study_baseline {
        struct rue_config config;
        char name[48];
        size_t column;       /* of configs */
    } at[RUE_BASELINES_MAX]; /* [count] */
};

/* The prior of a variant's strategy. */
struct rue_study_prior {
    bool used;
    struct rue_prior prior; /* borrows from the next two */
    struct rue_knowledge *knowledge;
    double *offsets; /* [models][configs] */
};

/* What answers trials. */
struct rue_study_host {
    struct rue_runners *runners;
    struct rue_recording *recording; /* that the runner replays; NULL: none */
    char identity[128];              /* of the runner */
    char machine[32];                /* fingerprint of its machine */
};

/* Where the study is stored. */
struct rue_study_place {
    char folder[PATH_MAX];
    size_t existing_length; /* of the part of `folder` that existed before */
    int lock;               /* descriptor */
    bool store_is_new;
    bool discard;                          /* remove the new folder and its store at the end */
    char part[RUE_PART_BYTES];             /* the folder of the converted sample; "" : none */
    char sample_path[RUE_PART_BYTES + 32]; /* of the sample in it */
    int part_lock;                         /* descriptor */
};

/* Costs of trials, as probed. */
struct rue_study_costs {
    bool probed;                                             /* all of the following are known */
    double one_worker_images_per_s[RUE_STUDY_VARIANTS_MAX];  /* 0: unknown */
    double all_workers_images_per_s[RUE_STUDY_VARIANTS_MAX]; /* with one worker per CPU; 0: unknown */
    double compute_s_per_image[RUE_STUDY_MODELS_MAX];        /* of models that are not known; 0: unknown */
    double trial_overhead_s;                                 /* of a trial, in addition to its own time */
};

struct rue_study_plan {
    const struct rue_strategy_ops *strategy;
    char why[160];     /* the program chose it; "": requested */
    bool short_trials; /* just long enough for the steady state, not whole jobs */
    double expected_s; /* of all possible trials */
    double stored_s;   /* part of it that stored trials save */
    int repeats;       /* of each configuration; those after the goal's are made if the budget has room */
    size_t trials;     /* of all configurations, all repeats; 0: the strategy decides */
};

/* A cell of a variant's matrix. */
struct rue_study_cell {
    size_t variant, model, config;
};

struct rue_study_setup {
    struct rue_study_goal goal;
    struct rue_progress *progress;
    struct rue_study_host host;
    struct rue_study_place place;
    char started[32];      /* ISO 8601, UTC */
    uint64_t memory_bytes; /* limit of a trial */

    size_t variant_count; /* open ones */
    size_t chosen_count;  /* to open, without the sample */
    struct rue_study_variant variants[RUE_STUDY_VARIANTS_MAX];
    size_t model_count;
    struct rue_study_model models[RUE_STUDY_MODELS_MAX];
    struct rue_space space;    /* as requested */
    uint64_t requested_images; /* J as requested; 0: one epoch */
    size_t config_count;
    struct rue_config *configs; /* [config_count], grid order */
    struct rue_study_baselines baselines;
    struct rue_study_costs costs;
    struct rue_study_plan plan;
    struct rue_study_prior priors[RUE_STUDY_VARIANTS_MAX];
};

/* What the runner declared. */
static inline const struct rue_hello *rue_study_hello(const struct rue_study_setup *setup)
{
    return setup->host.runners->hello;
}

/* The number that strategies give a lane; 0: the study has one machine. */
static inline size_t rue_study_node(const struct rue_study_setup *setup, size_t lane)
{
    return setup->host.runners->count > 1 ? lane + 1 : 0;
}

/* How many of `images` each loader of this machine loads; in a comparison of ranks, one rank alone. */
static inline uint64_t rue_study_share(const struct rue_study_setup *setup, uint64_t images)
{
    if (setup->goal.loader.deployment.numbers.count) return images;
    uint64_t loaders = rue_workload_loaders(&setup->goal.loader.workload);
    return images / loaders + (images % loaders != 0);
}

/* Whether the strategy predicts or judges cells. Such a strategy plans its own budget, one share per variant.
 * Any other strategy asks for all cells, and the driver skips what does not fit the budget. */
static inline bool rue_study_predicts(const struct rue_study_setup *setup)
{
    return setup->plan.strategy->estimate || setup->plan.strategy->judge;
}

/* A matrix of the study's models and configurations, without times. The caller closes `*out`. RUE_MEMORY. */
rue_status rue_study_open_matrix(const struct rue_study_setup *setup, struct rue_cost_matrix **out,
                                 rue_error *error) RUE_MUST_CHECK;

/* The origin of the trials of a variant and a model (RUE_NONE: none). */
struct rue_store_origin rue_study_origin(const struct rue_study_setup *setup, size_t variant, size_t model);

#endif
