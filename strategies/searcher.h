/* What strategies that predict have in common: the probes that they open with, what is believed of every
 * cell, what trials cost, and the trials that verify what would be recommended. A strategy begins with it,
 * takes its operations (RUE_SEARCHER_OPS), and decides itself what is asked after the probes. */
#ifndef RUE_SEARCHER_H
#define RUE_SEARCHER_H

#include "probing.h"
#include "standing.h"
#include "survey.h"
#include "trial_costs.h"
#include "trial_length.h"

struct rue_searcher;

/* What a strategy does of its own. */
struct rue_searcher_plan {
    const struct rue_trial_length
        *verification; /* of the trials on models that have not seen a configuration */
    /* Every probe was answered and is in the prediction: asks more of them, where it wants any. */
    void (*probed)(struct rue_searcher *search);
    /* Nothing is left to be answered: asks what decides next; where it asks nothing the search has ended. */
    void (*decide)(struct rue_searcher *search);
    /* A joint trial was ok. (optional) */
    void (*note)(struct rue_searcher *search, const struct rue_ask *ask,
                 const struct rue_trial_result *result);
};

enum rue_searcher_phase { RUE_SEARCHER_LOAD, RUE_SEARCHER_COMPUTE, RUE_SEARCHER_DECIDE, RUE_SEARCHER_ENDED };

struct rue_searcher {
    struct rue_strategy_setup setup;
    const struct rue_searcher_plan *plan;
    struct rue_forecast *forecast;
    struct rue_probing *probing;
    struct rue_survey *survey; /* of a runner that measures no loading; else NULL */
    struct rue_standing *standing;
    struct rue_ask_queue queue;
    struct rue_ask_queue joint_history; /* joint questions that were answered */
    struct rue_trial_costs costs;
    enum rue_searcher_phase phase;
    size_t joints;          /* joint trials that were ok */
    struct rue_claim claim; /* as it was after so many of them */
    size_t claimed;         /* 0: there is none yet */
    bool final;             /* by as many draws as there may be */
    size_t learned;         /* joint trials that the prediction and the scales of beliefs are of */
    bool stale;             /* the prediction is to be made anew */
    rue_status status;      /* why nothing more is asked: RUE_OK while it goes on */
    rue_error error;
};

/* Opens `search`, zeros before, in its place: it is not to be moved. RUE_USAGE for a setup without a trial;
 * RUE_MEMORY; to be closed in any case. */
rue_status rue_searcher_open(struct rue_searcher *search, const struct rue_strategy_setup *setup,
                             const struct rue_searcher_plan *plan, rue_error *error) RUE_MUST_CHECK;
void rue_searcher_close(struct rue_searcher *search);

/* Makes the prediction anew, and learns from all trials; says in `status` when that fails. */
void rue_searcher_update(struct rue_searcher *search);

/* Claims anew what can be claimed; says in `status` when that fails. */
void rue_searcher_claim_anew(struct rue_searcher *search, size_t draws);

/* What is left of the budget: seconds; whether it has no room for so many trials. */
double rue_searcher_left_s(const struct rue_searcher *search);
bool rue_searcher_lacks_trials(const struct rue_searcher *search, size_t wanted);

/* As rue_trial_length_images. */
uint64_t rue_searcher_images(const struct rue_searcher *search, size_t config,
                             const struct rue_trial_length *length);

/* Seconds that a trial is predicted to take by itself. */
double rue_searcher_trial_s(const struct rue_searcher *search, size_t model, size_t config, uint64_t images);

/* Seconds beside that. */
double rue_searcher_overhead_s(const struct rue_searcher *search, enum rue_measure measure, size_t config);

void rue_searcher_push_joint(struct rue_searcher *search, size_t model, size_t config, uint64_t images);

/* ---- verification: a trial on each model that has not seen the configuration ---- */

bool rue_searcher_is_unseen(const struct rue_searcher *search, size_t model, size_t config);
size_t rue_searcher_unseen_count(const struct rue_searcher *search, size_t config);

/* Seconds that they may take, with a margin; models `visited` (NULL: none) cost no change. */
double rue_searcher_verify_s(const struct rue_searcher *search, size_t config, const bool *visited);

/* On that model, where it has not seen the configuration. */
void rue_searcher_push_verification(struct rue_searcher *search, size_t model, size_t config);

/* ---- operations; `state` begins with a search ---- */

bool rue_searcher_ask(void *state, struct rue_ask *out);
void rue_searcher_tell(void *state, const struct rue_ask *ask, const struct rue_trial_result *result);
bool rue_searcher_estimate(void *state, size_t scenario, size_t config, struct rue_estimate *out);
bool rue_searcher_claim(void *state, struct rue_claim *out);
rue_status rue_searcher_learned(const void *state, struct rue_knowledge **out, rue_error *error);
rue_status rue_searcher_status(void *state, rue_error *error);
bool rue_searcher_expect(void *state, const struct rue_ask *ask, double *time_s, double *sd);
void rue_searcher_shift(void *state, size_t trial, struct rue_speed change);
void rue_searcher_spend(void *state, double seconds, size_t trials);
double rue_searcher_job_s(void *state, size_t scenario, size_t config, uint64_t images);

#define RUE_SEARCHER_OPS                                                                                     \
    .searches = true, .ask = rue_searcher_ask, .tell = rue_searcher_tell, .estimate = rue_searcher_estimate, \
    .claim = rue_searcher_claim, .learned = rue_searcher_learned, .status = rue_searcher_status,             \
    .expect = rue_searcher_expect, .shift = rue_searcher_shift, .spend = rue_searcher_spend,                 \
    .job_s = rue_searcher_job_s

#endif
