/* Everything that a report may say about a tuning run. Filled by the tuner, read by the reports. */
#ifndef RUE_FINDINGS_H
#define RUE_FINDINGS_H

#include "answers.h"
#include "cost_matrix.h"
#include "interval.h"
#include "job_length.h"
#include "knowledge.h"
#include "objective.h"
#include "selection.h"
#include "trial.h"

/* A change of the machine while a study ran. */
enum { RUE_NOTICE_TEXT_BYTES = 512 };

struct rue_notice {
    /* Numbers of trials, as trials.csv and the store have them. */
    size_t trial;              /* the first that it concerns */
    size_t noticed;            /* the last that had been made when it was sure */
    size_t unsure, unsure_end; /* made before or after it, nobody knows: from the one up to the other */
    double load_ratio, compute_ratio; /* how many times longer loading and computing take */
    char cause[256];                  /* what the kernel says of it; "" when it says nothing */
};

/* What a table says of a strategy that was tried on its times. */
struct rue_replayed {
    double table_s; /* one run of each cell that was looked at; 0: nothing was replayed */
    double spent_s; /* by the trials */
    size_t trials;
    double mean_regret_ratio,
        max_regret_ratio;   /* of the recommendation, by the whole table; NaN where it lacks times */
    struct rue_config best; /* by the whole table, where `knows_best` */
    bool knows_best;
    double best_mean_regret_ratio, best_max_regret_ratio;
};

/* What people use anyway. */
enum { RUE_BASELINES_MAX = 2 };
struct rue_baseline_row {
    size_t config;           /* column */
    char name[48];           /* "PyTorch's default" */
    struct rue_speedup gain; /* of the recommended configuration over this one; not known where they are the
                             same, or this one was not measured on every model */
};
struct rue_baseline_findings {
    size_t count; /* 0: there are none */
    struct rue_baseline_row rows[RUE_BASELINES_MAX];
    size_t found; /* column: what is best; where a baseline is recommended all the same, the gain */
    struct rue_speedup found_gain; /* over that one, else not known */
};

/* What the variant holds. */
struct rue_data_findings {
    uint64_t images, bytes; /* 0 when not known */
    char digest[32];
    bool sample;              /* converted for the comparison */
    double build_s_per_image; /* what converting an image took; 0 when not known */
    double storage_bytes;     /* of its files, where it is compared with others; 0 or NaN when not known */
};

/* What was timed. */
struct rue_job_findings {
    uint64_t images; /* J, of each loader where there are several; 0 when not known */
    uint64_t gpus;   /* that load at once, each with a loader of its own; 0: one loader */
    bool workload_known;
    struct rue_workload workload; /* of the trials */
};

/* Joint trials. */
struct rue_trial_findings {
    size_t ok, failed, infeasible, timeout;
    size_t disturbed;    /* of them, see struct rue_trial_row */
    size_t cache_missed; /* of them, those that were not warm, or cold, as the workload says */
    uint64_t bad_images; /* replaced in a trial because they could not be decoded, the most of any trial */
    double slept_ns, late_ns; /* of sleeping models in ok ones: the consumer's time, and its part that was
                                 too long */
};

/* With `confidence` no configuration of the space is better than the recommended one, by the objective, by
 * more than `bound_ratio`; confidence 0: nothing is claimed. */
struct rue_claim_findings {
    double bound_ratio, confidence;
    double prediction_error_ratio; /* not 0: predictions were off by so many times their own uncertainty */
    bool measured_only;            /* the bound is only about configurations that were measured */
};

/* One variant's part: its matrix and what the rules say of it. */
struct rue_variant_findings {
    struct rue_variant variant;
    const char *label;   /* (optional) what people call its mode in place of our own word; borrowed */
    bool models_unnamed; /* one model, whose name is ours: nobody gave it one */
    const struct rue_cost_matrix *matrix;
    const struct rue_selection *selection;
    enum rue_goal goal; /* what the times of the matrix are, and what is best in */
    struct rue_data_findings data;
    struct rue_job_findings job;
    struct rue_trial_findings trials;
    struct rue_job_lengths lengths; /* for which the answer is which; not known of goals beside the time */
    struct rue_claim_findings claim;
    struct rue_regret_interval interval; /* of the recommended one's regrets */
    const struct rue_answers *answers;   /* (optional) */
    struct rue_baseline_findings baselines;
    struct rue_replayed replayed;
    const struct rue_knowledge *knowledge; /* (optional) where the strategy predicts; borrowed */
};

enum { RUE_LEDGER_KEY_BYTES = 17 };

/* One line of trials.csv. */
struct rue_trial_row {
    uint64_t id;
    uint64_t started_ns; /* on the study's clock */
    struct rue_trial_request request;
    struct rue_trial_result result; /* arrays not kept */
    const char *label;              /* (optional) its variant's; borrowed */
    bool disturbed;                 /* far slower or faster than what was expected of it, and counts little */
};

/* What of the study's store the findings rest on. All borrowed. */
struct rue_findings_ledger {
    uint64_t trials; /* that the store held then */
    bool under_way;  /* kept before the end: there are no variants yet */
    size_t scenario_count;
    const char (*scenarios)[RUE_LEDGER_KEY_BYTES]; /* [scenario_count] which trials each variant is about */
    const char *rules_json;                        /* what it was ranked by */
};

/* One configuration for several variants. */
struct rue_overall_part {
    char name[PATH_MAX + 128];                  /* of the variant */
    double mean_regret_ratio, max_regret_ratio; /* of the recommendation, over the variant's models */
};
struct rue_overall {
    const char *over;               /* "raw", "preprocessed" or "all" */
    struct rue_cost_matrix *matrix; /* of the scenarios of all of them */
    const struct rue_selection *selection;
    enum rue_goal goal;
    struct rue_baseline_findings baselines;
    size_t best; /* column: what is recommended; else, where nothing was measured everywhere, the best of what
                  * is predicted; RUE_NONE */
    size_t part_count;
    struct rue_overall_part *parts; /* [part_count]; NaN without a best */
};
enum { RUE_OVERALL_MAX = RUE_MODE_COUNT + 1 };

/* Who made the trials. */
struct rue_runner_findings {
    char measured_with[64]; /* "rue", "torch", ... : whose loader it was; "imported": a table's */
    char name[128];         /* with version */
    bool pins;              /* it obeys pin_memory */
    char consumer[128];     /* whose times the consumer's are: "an NVIDIA RTX A5000", "" when not known */
    bool virtual_clock;     /* its times are not this machine's */
};

struct rue_machine_findings {
    char cpu[128];
    int usable_cpus;
    uint64_t memory_bytes;
    char kernel[128];
    char libraries[256]; /* "libjpeg-turbo 2.1.5, SQLite 3.40.1" */
    char json[2048];     /* the runner's own words, a JSON object; "" when it said none */
};

/* How the trials were asked for. */
struct rue_run_findings {
    char rue_version[32];
    char command_line[4096];
    char started[32]; /* ISO 8601, UTC */
    double duration_s;
    uint64_t seed;
    char strategy[32];      /* that chose the trials; "" when not known */
    char strategy_why[160]; /* why it was chosen; "" where it was asked for */
    int repeats_planned;
    size_t reused_trials; /* taken from an earlier run of the same study */
    bool partial;         /* interrupted, or the budget ran out */
    char partial_reason[160];
};

/* What happened to the machine on the way; "": nothing did, or it is not known. */
struct rue_change_findings {
    size_t notice_count;
    const struct rue_notice *notices;       /* [notice_count] changes; borrowed */
    char disturbance[256];                  /* what slowed all of it */
    char busy_before[256], busy_after[256]; /* what kept the machine busy before the first trial and after
                                               the last one */
};

struct rue_findings {
    char study[256];
    struct rue_runner_findings runner;
    struct rue_machine_findings machine;
    struct rue_run_findings run;
    struct rue_change_findings changes;
    bool alone; /* no report files are written: what has no room on the screen is had with --json */
    const struct rue_findings_ledger *ledger; /* (optional) borrowed */
    size_t variant_count;
    struct rue_variant_findings *variants; /* [variant_count] */
    size_t overall_count;
    struct rue_overall overall[RUE_OVERALL_MAX]; /* [overall_count] */
    const char *const
        *profiles; /* (optional) of each model, JSON; "" where it is the runner's own business */
    /* (optional) Makes row `index` of trials.csv; false where there is none. Asked for one after the other.
     */
    bool (*row_at)(void *context, size_t index, struct rue_trial_row *out);
    void *row_context;
};

/* How its JPEG files were decoded; exactly, where it has none. */
static inline enum rue_decode rue_findings_decode(const struct rue_variant_findings *variant)
{
    return variant->variant.mode == RUE_RAW ? variant->job.workload.decode : RUE_DECODE_EXACT;
}

/* What people call the variant: "preprocessed tensor float32", its label in place of the mode. */
void rue_findings_name(const struct rue_variant_findings *variant, char *out, size_t bytes);

/* What tells it from the other variants of the findings: the same, with the name of its data, or their path,
 * where others are called so too. */
void rue_findings_name_among(const struct rue_findings *findings, const struct rue_variant_findings *variant,
                             char *out, size_t bytes);

/* What people call its mode: its label, or "raw". */
const char *rue_findings_mode(const struct rue_variant_findings *variant);

/* Whether the variant's mode is one of ours; false where its label is all that is known. */
bool rue_findings_mode_is_known(const struct rue_variant_findings *variant);

/* Counts a joint trial of the variant in `trials`, all but whether it was disturbed. */
void rue_findings_count_trial(struct rue_variant_findings *variant, const struct rue_trial_result *result);

/* Whether the machine was busy with something else, so that the answer may be another one when it is idle. */
bool rue_findings_is_doubtful(const struct rue_findings *findings);

/* How much too long the sleeping models' batches took, over what they should have taken; NaN where nothing
 * slept. */
double rue_findings_overshoot_ratio(const struct rue_variant_findings *variant);

/* Order of two variants, as qsort has it: raw ones first, then by name, job and data. */
int rue_findings_compare(const void *left, const void *right);

/* What the times of a row rest on, that of the model with the least. */
enum rue_basis {
    RUE_BASIS_FULL,      /* trials of the whole job */
    RUE_BASIS_TRUNCATED, /* trials of both together, some of them cut short */
    RUE_BASIS_PREDICTED, /* there is a model that it was not tried on */
};
enum rue_basis rue_findings_basis(const struct rue_ranking_row *row);

/* Whether the worst regret of a row is more than nothing, so that whose it is means something. */
bool rue_findings_has_worst(const struct rue_ranking_row *row);

/* The model by name first of those for which the configuration failed or is infeasible; else of those for
 * which it was not measured; RUE_NONE when it was measured on all. */
size_t rue_findings_first_miss(const struct rue_variant_findings *variant, size_t config);

/* The fewest and the most repeats of a cell that has any; 0 and 0 without such a cell. */
void rue_findings_repeats(const struct rue_variant_findings *variant, size_t *least, size_t *most);

/* "from trial 57 of trials.csv on the machine is 1.30 times slower (18 % of ...); results are ..." */
void rue_notice_text(const struct rue_notice *notice, char *out, size_t bytes);

/* The best workers (and other knobs) for each batch size: users often have the batch size given. Columns are
 * in grid order, so those of one batch size stand side by side. */
struct rue_batch_best {
    int batch_size;
    size_t config; /* the best ranked column with this batch size, or RUE_NONE */
    size_t next;   /* the column to go on from; 0 to begin */
};

/* Goes to the next batch size, in the order of the matrix; false when there is none. */
bool rue_batch_best_next(const struct rue_variant_findings *variant, struct rue_batch_best *at);

/* The knobs of the configurations that were looked at. */
const struct rue_knobs *rue_findings_knobs(const struct rue_findings *findings);

#endif
