/* All data that a report may show of a tuning run. The tuner fills it, the reports read it. */
#ifndef RUE_FINDINGS_H
#define RUE_FINDINGS_H

#include "answers.h"
#include "cost_matrix.h"
#include "deployment.h"
#include "interval.h"
#include "job_length.h"
#include "knowledge.h"
#include "objective.h"
#include "selection.h"
#include "trial.h"

/* A change of the machine while a study ran. Trials are numbered as in trials.csv. */
enum { RUE_NOTICE_TEXT_BYTES = 512 };

struct rue_notice {
    uint64_t id;                      /* of its row in the store */
    int64_t run_id;                   /* the same */
    size_t trial;                     /* first trial after the change */
    size_t noticed;                   /* last trial before the change was certain */
    size_t uncertain, uncertain_end;  /* range of trials: unknown which ones ran before the change */
    double load_ratio, compute_ratio; /* factor by which loading and computing are slower */
    char cause[256];                  /* from the kernel's counters; "": unknown */
};

/* A strategy that was replayed on the times of a table. */
struct rue_replayed {
    double table_s; /* time of one run of each cell; 0: nothing was replayed */
    double spent_s; /* time of the trials */
    size_t trials;
    double mean_regret_ratio, max_regret_ratio; /* of the recommendation, in the whole table; NaN: unknown */
    struct rue_config best;                     /* of the whole table, if `knows_best` */
    bool knows_best;
    double best_mean_regret_ratio, best_max_regret_ratio;
};

/* Configurations that people usually choose. */
enum { RUE_BASELINES_MAX = 2 };
struct rue_baseline_row {
    size_t config;           /* column */
    char name[48];           /* "PyTorch's default" */
    struct rue_speedup gain; /* of the recommendation over this one; ratio 0: unknown, or equal */
};
struct rue_baseline_findings {
    size_t count;
    struct rue_baseline_row rows[RUE_BASELINES_MAX];
    size_t found;                  /* column of the best configuration */
    struct rue_speedup found_gain; /* if a baseline is recommended instead: gain of the best over it */
};

struct rue_data_findings {
    uint64_t images, bytes; /* 0: unknown */
    char digest[32];
    char layout[48];          /* of chunks: "16x3x224x224 zstd" */
    char note[1024];          /* a remark for users, such as on damaged images; "" */
    bool sample;              /* converted for the comparison */
    double build_s_per_image; /* time to convert an image; 0: unknown */
    double storage_bytes;     /* size of its files; 0 or NaN: unknown */
};

struct rue_job_findings {
    uint64_t images;                  /* J, per loader; 0: unknown */
    struct rue_deployment deployment; /* its numbers of loaders */
    bool workload_known;
    struct rue_workload workload;
};

/* Joint trials of the recommended configuration, by what a longer queue of loaded batches would gain. */
struct rue_queue_findings {
    size_t bound;      /* only a head start: the queue ran empty, and was never full */
    size_t uneven;     /* perhaps a higher rate: it was empty at times and full at others */
    size_t ample;      /* nothing: it did not run empty */
    uint64_t batch_ns; /* time of a batch in the slowest trial of the first kind */
};

/* Joint trials of the best configuration with batches of changing size. Both 0: none, or unknown. */
struct rue_sizes_findings {
    size_t changed; /* some batches had fewer images than batch_size */
    size_t kept;    /* all batches were of one size */
};

/* The slowest of the ranks that a launcher started, if it is slower than the others; ratio 0: none. */
enum { RUE_SLOW_NODE_BYTES = 65, RUE_SLOW_CAUSE_BYTES = 128 };
struct rue_slow_rank_findings {
    double slower_ratio; /* its time over that of the median of the others */
    uint64_t rank;
    char node[RUE_SLOW_NODE_BYTES];
    char cause[RUE_SLOW_CAUSE_BYTES]; /* continues "because" */
};

/* Joint trials. */
struct rue_trial_findings {
    size_t ok, failed, infeasible, timeout;
    size_t disturbed;    /* see struct rue_trial_row */
    size_t cache_missed; /* not warm or cold as requested */
    uint64_t bad_images; /* images that could not be decoded and were replaced, the most of any trial */
    struct rue_queue_findings queue;
    struct rue_sizes_findings sizes;
    double meant_ns, late_ns; /* of sleeping models in ok trials: the intended time, and the excess */
};

/* With `confidence`, no other configuration is more than `bound_ratio` of regret better than the recommended
 * one. Confidence 0: nothing is claimed. */
struct rue_claim_findings {
    double bound_ratio, confidence;
    double prediction_error_ratio; /* errors of predictions / their uncertainty, if too large; else 0 */
    bool measured_only;            /* the bound covers only measured configurations */
};

/* One variant. */
enum { RUE_SCENARIO_BYTES = 17 };
struct rue_variant_findings {
    char scenario[RUE_SCENARIO_BYTES]; /* names the rows of its trials in the store; "": unknown */
    struct rue_variant variant;
    const char *label;   /* (optional) name of its mode in the user's table; borrowed */
    bool models_unnamed; /* the only model has no name */
    const struct rue_cost_matrix *matrix;
    const struct rue_selection *selection;
    enum rue_goal goal; /* what the times of the matrix are */
    struct rue_data_findings data;
    struct rue_job_findings job;
    struct rue_trial_findings trials;
    struct rue_slow_rank_findings slow_rank;
    struct rue_job_lengths lengths; /* best configuration by job length; only for the goal time */
    struct rue_claim_findings claim;
    struct rue_regret_interval interval; /* of the recommendation's regrets */
    const struct rue_answers *answers;   /* (optional) */
    struct rue_baseline_findings baselines;
    struct rue_replayed replayed;
    const struct rue_knowledge *knowledge; /* (optional) of a strategy that predicts; borrowed */
};

/* One line of trials.csv. */
struct rue_trial_row {
    uint64_t id;
    uint64_t started_ns; /* on the study's clock */
    struct rue_trial_request request;
    struct rue_trial_result result; /* without its arrays */
    const char *label;              /* (optional) its variant's; borrowed */
    bool disturbed;                 /* much slower or faster than expected: it has a low weight */
};

/* One configuration for several variants. */
struct rue_overall_part {
    char name[PATH_MAX + 128];                  /* of the variant */
    double mean_regret_ratio, max_regret_ratio; /* over the variant's models */
};
struct rue_overall {
    const char *scope;              /* "raw", "preprocessed" or "all" */
    struct rue_cost_matrix *matrix; /* of the scenarios of all of them */
    const struct rue_selection *selection;
    enum rue_goal goal;
    struct rue_baseline_findings baselines;
    size_t part_count;
    struct rue_overall_part *parts; /* [part_count]; NaN without a recommendation */
};
enum { RUE_OVERALL_MAX = RUE_MODE_COUNT + 1 };

struct rue_runner_findings {
    char measured_with[64]; /* loader: "rue", "torch", ...; "imported": a table's */
    char name[128];         /* with version */
    bool pins_memory;       /* it obeys pin_memory */
    char consumer[128];     /* device of the model times: "an NVIDIA RTX A5000"; "": unknown */
    bool virtual_clock;     /* a simulated machine */
};

struct rue_machine_findings {
    char cpu[128];
    int usable_cpus;
    uint64_t memory_bytes;
    char kernel[128];
    char libraries[256]; /* "libjpeg-turbo 2.1.5, SQLite 3.40.1" */
    char json[2048];     /* JSON object of the runner; "": none */
};

struct rue_run_findings {
    char rue_version[32];
    char command_line[4096];
    char started[32]; /* ISO 8601, UTC */
    double duration_s;
    uint64_t seed;
    char strategy[32];      /* "": unknown */
    char strategy_why[160]; /* why `auto` chose it; "": the user did */
    int repeats_planned;
    size_t reused_trials; /* from earlier runs of the same study */
    bool accepts_busy; /* other programs do not make an answer undecided that was measured on every model */
    bool partial;      /* interrupted, or the budget ran out */
    char partial_reason[160];
};

/* A node of a farm that was dropped. */
struct rue_dropped_node {
    uint64_t id;    /* of its row in the store */
    int64_t run_id; /* the same */
    uint64_t rank;
    char node[RUE_SLOW_NODE_BYTES];  /* its name */
    size_t discarded, discarded_end; /* range of trials: those of this node are not used; empty: all are */
    char why[600];                   /* "differs from the other nodes: ..." */
};

/* Trials that other programs slowed down, or that were made at another speed of the machine than most. Shares
 * are of the trials' time. */
struct rue_contention_findings {
    double affected_ratio;  /* share of both; 0: nothing was affected, or nothing is known */
    double contended_ratio; /* share in which other programs used CPUs */
    double other_cpus;      /* that they used then, on average */
    int cpus;               /* that trials may use */
    bool has_clean_pair;    /* the recommended configuration was compared without them */
};

/* What happened to the machine; "": nothing, or unknown. */
struct rue_change_findings {
    struct rue_contention_findings contention;
    size_t notice_count;
    const struct rue_notice *notices; /* [notice_count] changes; borrowed */
    size_t dropped_count;
    const struct rue_dropped_node *dropped; /* [dropped_count] nodes of a farm; borrowed */
    char disturbance[256];                  /* what slowed the whole run */
    char busy_before[256], busy_after[256]; /* before the first trial, after the last one */
};

struct rue_findings {
    char study[256];       /* its name */
    char folder[PATH_MAX]; /* of the study, as the user wrote it; "": none */
    struct rue_runner_findings runner;
    struct rue_machine_findings machine;
    struct rue_run_findings run;
    struct rue_change_findings changes;
    bool unsaved; /* no report files are written: only --json has all results */
    size_t variant_count;
    struct rue_variant_findings *variants; /* [variant_count] */
    size_t overall_count;
    struct rue_overall overall[RUE_OVERALL_MAX]; /* [overall_count] */
    const char *const *profiles; /* (optional) JSON of each model; "": only the runner knows it */
    /* (optional) Makes row `index` of trials.csv, called in order; false: there is none. */
    bool (*row_at)(void *context, size_t index, struct rue_trial_row *out);
    void *row_context;
};

/* Whether rue's own loader made the trials. */
bool rue_findings_runner_is_own(const struct rue_findings *findings);

/* How its JPEG files were decoded. */
static inline enum rue_decode rue_findings_decode(const struct rue_variant_findings *variant)
{
    return variant->variant.mode == RUE_RAW ? variant->job.workload.decode : RUE_DECODE_EXACT;
}

/* "photos" of "data/photos". */
const char *rue_findings_last_part(const char *path);

/* "preprocessed tensor float32", or with the label in place of the mode. The shape and codec of chunks
 * follow, and the name or path of its data, or its ranks, if other variants have the same name. Returns the
 * length of the mode, with the space behind it. */
size_t rue_findings_name_among(const struct rue_findings *findings,
                               const struct rue_variant_findings *variant, char *out, size_t bytes);

/* Whether these are the only data, and the runner's own: they need no name. */
static inline bool rue_findings_is_only(const struct rue_findings *findings,
                                        const struct rue_variant_findings *variant)
{
    return findings->variant_count == 1 && !variant->variant.path[0] && !variant->label;
}

/* Number of loaders that share its data, here or on other machines. */
static inline int rue_findings_ranks(const struct rue_variant_findings *variant)
{
    return variant->job.workload.world_size > 1 ? variant->job.workload.world_size : 1;
}

/* Whether it compares numbers of ranks (rank_scaling.h): variants of the same data with one rank and more. */
bool rue_findings_compares_ranks(const struct rue_findings *findings);

/* Whether it must have a recommendation: of such variants, only that of one rank. */
bool rue_findings_is_counted(const struct rue_findings *findings, const struct rue_variant_findings *variant);

/* Its label, or "raw". */
const char *rue_findings_mode(const struct rue_variant_findings *variant);

/* False: only its label is known. */
bool rue_findings_mode_is_known(const struct rue_variant_findings *variant);

/* The column of an equal configuration; RUE_NONE: none. Quick if the knobs are those of the matrix, whose
 * columns are in grid order. */
size_t rue_findings_config(const struct rue_cost_matrix *matrix, const struct rue_config *config);

/* Counts a joint trial of the variant in `trials`, except in `disturbed`. */
void rue_findings_count_trial(struct rue_variant_findings *variant, const struct rue_trial_result *result);

/* Counts a joint trial of the recommended configuration in `trials.queue`, if it has enough batches. */
void rue_findings_count_queue(struct rue_variant_findings *variant, const struct rue_trial_result *result);

/* The best ranked column whose batches have a fixed size, or one that changes; RUE_NONE: none. */
size_t rue_findings_best_batches(const struct rue_variant_findings *variant, bool fixed);

/* Counts a joint trial in `trials.sizes` if it is of the best column with batches of changing size. */
void rue_findings_count_sizes(struct rue_variant_findings *variant, const struct rue_trial_result *result);

/* Whether the machine was busy with other work, or unsteady. */
bool rue_findings_is_doubtful(const struct rue_findings *findings);

/* Whether too much of the time was affected for a claim, or every comparison of what is recommended. */
bool rue_findings_is_unsteady(const struct rue_findings *findings);

/* Whether times are corrected for other programs that used CPUs: where the strategy predicts. */
bool rue_findings_corrects_contention(const struct rue_findings *findings);

/* Whether it was too unsteady to state ratios of times, without --accept-busy. */
bool rue_findings_withholds_ratios(const struct rue_findings *findings);

/* How many times as fast `config` is as `other`, at 95 % confidence; without an interval if the machine was
 * unsteady and that is accepted. False, and {0}: unknown, or withheld. */
bool rue_findings_speedup(const struct rue_findings *findings, const struct rue_variant_findings *variant,
                          size_t config, size_t other, struct rue_speedup *out);

/* Discards bound, interval and speed-ups, which an unsteady machine makes unreliable. */
void rue_findings_withhold(struct rue_variant_findings *variant);

/* "other programs or changes of speed affected 63 % of the time" */
enum { RUE_WHY_NOT_BYTES = 192 };
const char *rue_findings_say_affected(const struct rue_findings *findings, char out[RUE_WHY_NOT_BYTES]);

/* Rounded up to 0.1 points, and at least that. */
double rue_findings_bound_percent(double ratio);

/* What decides a study that is not decided: "tune again with the same options ...". */
const char *rue_findings_next_step(const struct rue_findings *findings,
                                   const struct rue_variant_findings *variant);

/* Why the recommendation cannot be relied on, as a clause; "": it is decided. */
const char *rue_findings_why_not(const struct rue_findings *findings,
                                 const struct rue_variant_findings *variant, char out[RUE_WHY_NOT_BYTES]);
bool rue_findings_is_decided(const struct rue_findings *findings, const struct rue_variant_findings *variant);

/* The first variant that must have a recommendation and is not decided; NULL: all are. */
const struct rue_variant_findings *rue_findings_first_undecided(const struct rue_findings *findings);

/* Excess time of sleeping models / their intended time; NaN: no model slept. */
double rue_findings_overshoot_ratio(const struct rue_variant_findings *variant);

/* For qsort: raw variants first, then by name, job and data. */
int rue_findings_compare(const void *left, const void *right);

/* What the times of a row are based on, for the model with the weakest basis. */
enum rue_basis {
    RUE_BASIS_FULL,      /* trials of the whole job */
    RUE_BASIS_TRUNCATED, /* joint trials on every model, some shorter than the job */
    RUE_BASIS_PREDICTED, /* not measured on every model */
};
enum rue_basis rue_findings_basis(const struct rue_ranking_row *row);

/* Whether the worst regret is printed as more than 0.0 %, so that its model matters. */
bool rue_findings_has_worst(const struct rue_ranking_row *row);

/* The first model by name on which the configuration failed or is infeasible, or else was not measured;
 * RUE_NONE: none. */
size_t rue_findings_first_miss(const struct rue_variant_findings *variant, size_t config);

/* The smallest and largest number of repeats of a measured cell; 0 if nothing was measured. */
void rue_findings_repeats(const struct rue_variant_findings *variant, size_t *least, size_t *most);

/* Whether the noise of the two columns was measured: cells were repeated, or have an uncertainty. */
bool rue_findings_noise_is_measured(const struct rue_variant_findings *variant, size_t a, size_t b);

/* "since trial 57 of trials.csv, the machine is 1.30 times slower (18 % of ...); times are ..." */
void rue_notice_text(const struct rue_notice *notice, char *out, size_t bytes);

/* "rank 2 (node7) differs from ...; it was dropped, and its trials 12 to 34 are not used" */
void rue_dropped_node_text(const struct rue_dropped_node *node, char *out, size_t bytes);

/* The best workers (and other knobs) for each batch size. Columns are in grid order. */
struct rue_batch_best {
    int batch_size;
    size_t config; /* the best ranked column with this batch size, or RUE_NONE */
    size_t next;   /* column to continue at; 0 to begin */
};

/* False after the last batch size. */
bool rue_batch_best_next(const struct rue_variant_findings *variant, struct rue_batch_best *at);

/* Whether PyTorch's DataLoader gets knob `k` of the configuration. It refuses some without workers, and warns
 * of pin_memory without a GPU. */
bool rue_findings_gives_torch(const struct rue_findings *findings, const struct rue_config *config, size_t k);

const struct rue_knobs *rue_findings_knobs(const struct rue_findings *findings);

#endif
