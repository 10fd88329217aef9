/* The running strategies of a study. */
#ifndef RUE_TRACKS_H
#define RUE_TRACKS_H

#include "flight.h"
#include "study_parts.h"

/* A running strategy: of all scenarios, or, if it predicts, of those of one variant. */
struct rue_track {
    void *state;
    size_t first_variant;
    double share; /* of the budget */
    uint64_t spent_ns;
    bool ended;
    struct rue_trial_result failed_probe; /* the first one, without its arrays; ok: none */
};

struct rue_tracks {
    size_t count;
    double weights[RUE_STUDY_VARIANTS_MAX * RUE_STUDY_MODELS_MAX]; /* of the scenarios */
    size_t baselines[RUE_BASELINES_MAX];                           /* their columns */
    struct rue_track at[RUE_STUDY_VARIANTS_MAX];
    /* Of a strategy that does not predict: */
    size_t config;     /* current one */
    int repeat;        /* current one */
    bool over_budget;  /* the current ones do not fit the budget: only their stored trials count */
    size_t new_trials; /* trials that were not stored */
    double expected_s; /* of the new trials */
    size_t skipped;
};

/* Opens a strategy for all scenarios, or, if it predicts, one for each variant, which observes the stored
 * trials. Fails as the strategy, and as rue_study_observe_stored; close in any case. */
rue_status rue_tracks_open(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                           struct rue_tracks *out, rue_error *error) RUE_MUST_CHECK;
void rue_tracks_close(const struct rue_study_setup *setup, struct rue_tracks *tracks);

/* A question, and the track that asked it. */
struct rue_asked {
    struct rue_track *track;
    struct rue_question question;
};

/* Gets a question for the node. The track that has spent the least of its share is asked first. False: no
 * track has one now. */
bool rue_tracks_ask(const struct rue_study_setup *setup, struct rue_tracks *tracks, size_t node,
                    struct rue_asked *out);

/* The cell of a track's question. */
struct rue_study_cell rue_study_find_cell(const struct rue_study_setup *setup, const struct rue_asked *asked);

/* The trial that answers it. */
struct rue_flight rue_study_make_flight(const struct rue_study_setup *setup, const struct rue_asked *asked);

/* Updates all that depends on the answer to a question. RUE_USAGE: the budget is too small; RUE_INFEASIBLE:
 * damaged data. */
rue_status rue_study_absorb(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                            struct rue_tracks *tracks, struct rue_asked *asked,
                            const struct rue_flight *flight, rue_error *error) RUE_MUST_CHECK;

/* Notes that the run ended early. */
void rue_study_mark_partial(struct rue_study *study, const char *why);

/* Fails if a signal ended a strategy's computation. */
rue_status rue_study_check_signal(struct rue_study *study, const struct rue_tracks *tracks,
                                  rue_error *error) RUE_MUST_CHECK;

#endif
