/* A tuning study: a runner, a store, and the scenarios that are measured. The flow of `rue tune`:
 *
 *   rue_study_open      starts the runner, opens the data, finds out what is to be measured
 *                       (study.c; study_opening.h, study_folder.h, study_space.h)
 *   rue_study_plan      chooses a strategy, and says what there is to be tried
 *                       (study_plan.c; study_costs.h, study_choice.h)
 *   rue_study_run       asks the strategy, measures, stores
 *                       (study_run.c; study_measure.h, study_times.h, study_lengths.h, watch.h)
 *   rue_study_findings  applies the selection rules (study_findings.c)
 *
 * What several of these need has headers of its own: study_clock.h, study_strategy.h, study_faults.h,
 * study_key.h, study_changes.h. */
#ifndef RUE_STUDY_H
#define RUE_STUDY_H

#include "budget.h"
#include "cost_matrix.h"
#include "findings.h"
#include "goal.h"
#include "job_length.h"
#include "job_time.h"
#include "part.h"
#include "profile.h"
#include "progress.h"
#include "ranking_rules.h"
#include "recommendation_file.h"
#include "recording.h"
#include "runner_client.h"
#include "source.h"
#include "store.h"
#include "strategy.h"

enum { RUE_STUDY_NOTICES_MAX = 32, RUE_STUDY_MODELS_MAX = 64, RUE_STUDY_VARIANTS_MAX = 8 };

/* What the user asks for. Strings are borrowed for the study's life. */
struct rue_study_goal {
    const char *table;              /* of recorded times, which are replayed; NULL: trials are made */
    const char *map;                /* what its columns are called; nullable */
    size_t data_count;              /* 0: what the runner brings along */
    const char *const *data;        /* [data_count] paths, at most RUE_STUDY_VARIANTS_MAX */
    struct rue_source_options keys; /* what they call images and labels */
    const char *runner;             /* a shell command; NULL: our own */
    const char *gpus;               /* a loader for each of these, at once, see gpu_list.h; NULL: one loader.
                                       The workload's world_size is how many they are */
    bool modes[RUE_MODE_COUNT];
    const char *models;                       /* "resnet18,vit_b_16"; NULL: the runner's, or a default */
    const char *device;                       /* of models that name none; NULL: the usual one */
    const char *knobs[RUE_KNOB_COUNT];        /* "32,64", "0..8"; NULL: a default */
    const char *knob_origins[RUE_KNOB_COUNT]; /* what gave each of them, "--batch-size": for messages */
    uint64_t images;                          /* J; 0: one epoch, or `batches` */
    uint64_t batches;       /* J as batches of the largest size that is looked at; 0: not said so */
    uint64_t sample_images; /* at most so many are converted to compare preprocessed with raw */
    const char *strategy;   /* one of rue_strategies */
    struct rue_budget budget;
    double
        epsilon_ratio; /* when a strategy that predicts has found what is good enough: mean regret beyond */
    double confidence; /* the best, and how surely */
    enum rue_goal minimise;
    uint64_t max_first_batch_ns; /* what comes later is not recommended; 0: whenever it comes */
    uint64_t trial_timeout_ns;   /* 0: ten times what a trial is expected to take, at least a minute */
    int repeats;
    struct rue_ranking_rules rules;
    uint64_t memory_bytes; /* for batches in flight; 0: four fifths of what is free */
    bool limits_workers;   /* to `max_workers`, which `max_workers_origin` said */
    int max_workers;
    const char *max_workers_origin;
    const char *baseline;        /* what people use anyway, see study_baselines.h; NULL: nothing */
    const char *baseline_origin; /* what gave it, "--baseline": for messages */
    struct rue_workload workload;
    const char *out;                  /* folder; NULL: rue-out/<name of the data> */
    struct rue_recommendation *prior; /* (optional) an earlier study, to start from */
    const struct rue_recommended
        *again;              /* (optional) its models, those that there are, in place of `models` */
    const char *name_suffix; /* (optional) of the folder, where `out` does not say it */
    bool goes_on;            /* with the store of the study before: nothing is told of what it holds */
    bool has_copy;     /* the data lie elsewhere, too, in the same store: they are known by their place */
    bool keep_nothing; /* no folder, and a store in memory */
    bool fresh;
    bool dry_run;                            /* nothing is written or removed */
    const struct rue_report *const *reports; /* that are written to the folder, NULL at the end */
    const char *command_line;
};

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
    bool known; /* `profile` has its times; else the runner's own business, or not timed yet */
    struct rue_profile profile;
    char profile_json[RUE_PROFILE_JSON_BYTES];
};

/* What people use anyway, beside which the best configuration is measured. */
struct rue_study_baseline {
    struct rue_config config;
    char name[48];
    size_t column; /* of configs; RUE_NONE: not looked at */
};

/* What a variant's strategy starts from. */
struct rue_study_prior {
    bool used;
    struct rue_prior prior; /* borrows from the other two */
    struct rue_knowledge *knowledge;
    double *offsets; /* [models][configs] */
};

struct rue_study {
    const struct rue_study_goal *goal; /* own_goal */
    struct rue_study_goal own_goal;
    struct rue_recording *recording; /* NULL: trials are made */
    char runner_images[32];          /* arguments of the runner that replays */
    const char *runner_words[RUE_RUNNER_WORDS_MAX + 1];
    struct rue_progress *progress;
    char folder[PATH_MAX];
    char part[RUE_PART_BYTES];             /* the folder of the converted sample; "" : none */
    char sample_path[RUE_PART_BYTES + 32]; /* of the sample in it */
    int part_lock;                         /* descriptor */
    size_t folder_kept;                    /* so much of `folder` was there before */
    bool store_is_new;
    bool discard;    /* at the end, what is new: the folder and the store in it */
    int folder_lock; /* descriptor */
    struct rue_runner *runner;
    struct rue_store *store;
    char runner_identity[128];
    char machine_identity[32];
    uint64_t start_ns;     /* zero of the study's clock, as of rue_suspension_awake_ns */
    uint64_t suspended_ns; /* of trials that were thrown away; not spent */
    bool suspended;        /* there was such a trial, and it has been told */
    uint64_t virtual_ns;   /* spent on the runner's own clock, where it is virtual */
    uint64_t memory_bytes; /* limit of a trial */
    char started[32];      /* ISO 8601, UTC */

    size_t variant_count; /* that are open */
    size_t chosen_count;  /* that are to be opened, the sample aside */
    size_t model_count;
    struct rue_study_variant variants[RUE_STUDY_VARIANTS_MAX];
    struct rue_study_model models[RUE_STUDY_MODELS_MAX];
    struct rue_space space; /* as asked for */
    uint64_t wanted_images; /* J as asked for; 0: one epoch */

    bool probed;                                             /* all of the following */
    double one_worker_images_per_s[RUE_STUDY_VARIANTS_MAX];  /* as probed; 0 before */
    double all_workers_images_per_s[RUE_STUDY_VARIANTS_MAX]; /* with a worker on every CPU, likewise */
    double compute_s_per_image[RUE_STUDY_MODELS_MAX]; /* as probed, of models that are not known; 0 before */
    double trial_overhead_s;                          /* of a trial, beside its own time, as probed */
    char strategy_why[160]; /* where the program chose the strategy; "" where it was asked for */

    uint64_t found_trials; /* that the store held when it was opened */
    bool short_trials;     /* as short as says something of the steady state, in place of whole jobs */
    double expected_s;     /* of all that may be tried */
    double stored_s;       /* of it, for trials that the store holds already */
    size_t probe_rows;     /* the first of `rows`: measured to make the plan */
    bool stored_untold;    /* the store holds more than strategies are told: they are not told more of it */
    size_t trials;         /* of all configurations, all repeats; 0 where the strategy decides on the way */
    size_t config_count;
    struct rue_config *configs;                               /* [config_count], grid order */
    struct rue_cost_matrix *matrices[RUE_STUDY_VARIANTS_MAX]; /* [variant_count] */
    struct rue_job_line *lines[RUE_STUDY_VARIANTS_MAX];       /* [cells] of joint trials; NULL: none noted */
    struct rue_job_lengths lengths[RUE_STUDY_VARIANTS_MAX];   /* for which the answer is which */
    size_t row_count, row_capacity;
    struct rue_trial_row *rows; /* every trial used, in order */
    size_t reused;              /* of them, from the store */
    bool was_stored;            /* the last one asked for: from the store, or measured to make the plan */
    size_t made;                /* trials of this run since its plan, references and all */
    size_t last_trial;          /* number of the one that was answered last */
    struct rue_speed_history speeds;
    size_t notice_count;
    struct rue_notice notices[RUE_STUDY_NOTICES_MAX]; /* [notice_count] of changes of the machine */
    char disturbance[256];                            /* what slowed all of it; "" : nothing did */
    char busy_before[256], busy_after[256]; /* what kept the machine busy without trials; "" : nothing did */
    size_t disturbed_count;
    uint64_t *disturbed; /* [disturbed_count] trials of earlier runs that count little; owned */
    bool partial;
    char partial_reason[160];
    size_t baseline_count;
    struct rue_study_baseline baselines[RUE_BASELINES_MAX]; /* [baseline_count] */
    const struct rue_strategy_ops *strategy;
    struct rue_claim claims[RUE_STUDY_VARIANTS_MAX]; /* of each variant, where the strategy predicts */
    bool claimed[RUE_STUDY_VARIANTS_MAX];
    struct rue_knowledge *knowledge[RUE_STUDY_VARIANTS_MAX]; /* owned; NULL where the strategy tells none */
    struct rue_study_prior priors[RUE_STUDY_VARIANTS_MAX];
    const char *profiles[RUE_STUDY_MODELS_MAX]; /* of the models, for the findings */
};

/* RUE_DATA, RUE_USAGE, RUE_STORE, RUE_RUNNER and the signals' statuses; the message says what to do. */
rue_status rue_study_open(const struct rue_study_goal *goal, struct rue_progress *progress,
                          struct rue_study **out, rue_error *error) RUE_MUST_CHECK;
void rue_study_close(struct rue_study *study);

/* How many of so many images each loader loads. */
static inline uint64_t rue_study_share(const struct rue_study *study, uint64_t images)
{
    uint64_t loaders = (uint64_t)study->goal->workload.world_size;
    return images / loaders + (images % loaders != 0);
}

/* Chooses a strategy where none was asked for, probes what it costs, and lists the configurations; allocates
 * the matrices. RUE_USAGE where the budget is too small for any answer. */
rue_status rue_study_plan(struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

/* Runs the plan with the strategy. RUE_OK also when the budget ended it (study->partial); RUE_INTERRUPTED and
 * RUE_TERMINATED leave a study whose findings can still be reported; RUE_INFEASIBLE after the same failure
 * five times in a row. Failures are the same when their reasons are, numbers aside (which process, file or
 * address it was), but for exit codes. Infeasible trials in between, and trials that the store answers,
 * neither count nor end the row: they say nothing about whether the runner works. */
rue_status rue_study_run(struct rue_study *study, rue_error *error) RUE_MUST_CHECK;

/* Applies the rules to a variant, and compares what they recommend with the baselines. `*out` is closed by
 * the caller. RUE_MEMORY. */
rue_status rue_study_select(const struct rue_study *study, size_t variant, struct rue_selection **out,
                            struct rue_baseline_findings *baselines, rue_error *error) RUE_MUST_CHECK;

/* Applies them to all variants. `*out` borrows from the study; rue_study_findings_close frees the rest. */
rue_status rue_study_findings(struct rue_study *study, struct rue_findings **out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_study_findings_close(struct rue_findings *findings);

/* "libjpeg-turbo 2.1.5, SQLite 3.40.1, ...". */
void rue_study_libraries(char *out, size_t bytes);

#endif
