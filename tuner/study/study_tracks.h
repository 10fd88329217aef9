/* The running strategies of a study, one trial at a time (study_run.c) or one on each node (study_farm.c). */
#ifndef RUE_STUDY_TRACKS_H
#define RUE_STUDY_TRACKS_H

#include "study.h"
#include "study_trials.h"
#include "watch.h"

/* A running strategy: of all scenarios, or, if it predicts, of those of one variant. */
struct rue_track {
    void *state;
    size_t first_variant;
    double share; /* of the budget */
    uint64_t spent_ns;
    bool ended;
    enum rue_outcome probe_outcome; /* of the first failed probe */
    char probe_reason[RUE_REASON_BYTES];
};

struct rue_tracks {
    size_t count;
    double weights[RUE_STUDY_VARIANTS_MAX * RUE_STUDY_MODELS_MAX]; /* of the scenarios */
    size_t baselines[RUE_BASELINES_MAX];                           /* their columns */
    struct rue_track at[RUE_STUDY_VARIANTS_MAX];
    struct rue_watch *watch; /* NULL: the study is too short for one */
    /* Of a strategy that does not predict: */
    size_t config;     /* current one */
    int repeat;        /* current one */
    bool over_budget;  /* the current ones do not fit the budget: only their stored trials count */
    size_t new_trials; /* trials that were not stored */
    double expected_s; /* of the new trials */
    size_t skipped;
    struct rue_same_failures failures;
};

/* The cell of a track's question. */
struct rue_study_cell {
    size_t variant, model, config;
};

struct rue_study_cell rue_study_find_cell(const struct rue_study_setup *setup, const struct rue_track *track,
                                          const struct rue_question *question);

struct rue_trial_request rue_study_make_request(const struct rue_study_setup *setup,
                                                struct rue_study_cell cell,
                                                const struct rue_question *question);

/* The expected time of its trial. */
uint64_t rue_study_expected_ns(const struct rue_study_setup *setup, const struct rue_question *question);

bool rue_study_is_spent(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger);

/* Updates all that depends on the answer to a question, which is the ledger's last row. RUE_USAGE: the budget
 * is too small; RUE_INFEASIBLE: damaged data. */
rue_status rue_study_absorb(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                            struct rue_tracks *tracks, struct rue_track *track, struct rue_question *question,
                            const struct rue_trial_result *result, rue_error *error) RUE_MUST_CHECK;

/* Notes that the run ended early. */
void rue_study_mark_partial(struct rue_study *study, const char *why);

/* Fails if a signal ended a strategy's computation. */
rue_status rue_study_check_signal(struct rue_study *study, const struct rue_tracks *tracks,
                                  rue_error *error) RUE_MUST_CHECK;

#endif
