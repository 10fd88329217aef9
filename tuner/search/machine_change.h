/* A change of the machine, or of all machines: since when, how much slower loading and computing are, and
 * why. */
#ifndef RUE_MACHINE_CHANGE_H
#define RUE_MACHINE_CHANGE_H

#include "causes.h"
#include "findings.h"
#include "study_ledger.h"

enum { RUE_CHANGE_REPEATS = 2 }; /* compute trials after a change */

struct rue_machine_change {
    bool active; /* it is certain, and not concluded yet */
    struct rue_notice notice;
    double load;  /* how much slower loading has become, a logarithm */
    bool repeats; /* the first compute trial is repeated: `variant`, `model`, `request` */
    size_t variant, model;
    struct rue_trial_request request;
    double before, least; /* its time per batch: at the initial speed, and the least one since the change */
    int repeated;
    double assumed; /* without such a trial: the assumed slowdown of computing, a logarithm */
};

/* What references show. */
struct rue_change_evidence {
    size_t end;       /* the trial before which it has changed */
    double level;     /* of their times against the initial speed, a logarithm */
    bool by_loader;   /* they only load */
    size_t first_row; /* of the ledger since the watch began */
    size_t node;      /* that repeats the compute trial, as strategies number it */
};

/* Finds when the change began, and which trial to repeat. Not `active`: the speed is the last known one. */
struct rue_machine_change rue_machine_change_begin(const struct rue_study_setup *setup,
                                                   const struct rue_study_ledger *ledger,
                                                   struct rue_change_evidence evidence);

/* Adds the time of a repeated compute trial. True: it was the last. */
bool rue_machine_change_measure(struct rue_machine_change *change, const struct rue_trial_result *result);

/* Stores and reports the change, with its causes (nullable). RUE_STORE, RUE_MEMORY. */
rue_status rue_machine_change_conclude(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                       const struct rue_causes *causes, struct rue_machine_change *change,
                                       struct rue_speed_change *out, rue_error *error) RUE_MUST_CHECK;

#endif
