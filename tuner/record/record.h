/* The record of a study, read from its store: the number of trials and the result of the last run. If that
 * run was killed, or trials were added or deleted since, its trials are ranked again. Trials of other
 * circumstances (data, job, workload, runner or machine) are only counted. */
#ifndef RUE_RECORD_H
#define RUE_RECORD_H

#include <limits.h>

#include "findings_fill.h"
#include "kept_findings.h"
#include "store.h"
#include "tally.h"

struct rue_record {
    struct rue_recommendation *last; /* notes of the last run that measured; NULL: none */
    bool is_current;                 /* `last` is a result, and the store is unchanged since */
    struct rue_tally tally;          /* joint trials of the last run, a group per variant */
    size_t trials_ok, trials_not_ok; /* joint trials of all circumstances */
    size_t other_trials;             /* joint trials of other circumstances */
    size_t probes;                   /* trials of other measures */
    char recorded[32];               /* time of the last trial of the tally, UTC */
    bool running;                    /* a run is in progress */
    bool partial;                    /* the last run ended early, or `last` is not current */
    char partial_reason[160];
    struct rue_store *copy;       /* of the store, as it was read */
    struct rue_store_trial trial; /* of it, the current one of a report's list */
    rue_error unread;             /* why that list ended early */
    char store[PATH_MAX];
    char folder[PATH_MAX]; /* of the store, resolved */
    char name[256];        /* of the folder */
};

/* Reads a study by the path of its folder or its store; writes nothing. RUE_DATA when there is none,
 * RUE_STORE when the store is damaged, unreadable or not a study's, RUE_MEMORY. A store without joint trials
 * is not an error. On failure nothing needs to be closed. */
rue_status rue_record_read(const char *path, struct rue_record *out, rue_error *error) RUE_MUST_CHECK;

/* As rue_record_read, but quicker if the result of the last run is current: trials are then neither counted
 * nor tallied, and can be ranked only by that run's rules. */
rue_status rue_record_read_last(const char *path, struct rue_record *out, rue_error *error) RUE_MUST_CHECK;
void rue_record_close(struct rue_record *record);

/* Whether there is anything to rank. */
bool rue_record_is_empty(const struct rue_record *record);

/* RUE_INCONCLUSIVE if not; `purpose`: "rank". */
rue_status rue_record_check(const struct rue_record *record, const char *purpose,
                            rue_error *error) RUE_MUST_CHECK;

/* The findings, owned by the caller (rue_findings_close); they borrow from the record. They list the trials
 * of the last run, once: then see rue_record_check_list. Call it once, not for an empty record. RUE_USAGE as
 * rue_ranking_rules_check, RUE_MEMORY. */
rue_status rue_record_findings(struct rue_record *record, const struct rue_ranking_rules *rules,
                               struct rue_findings **out, rue_error *error) RUE_MUST_CHECK;

/* RUE_STORE if a trial of the list could not be read. */
rue_status rue_record_check_list(const struct rue_record *record, rue_error *error) RUE_MUST_CHECK;

/* Index of the trial's variant among those of the last run; RUE_NONE: not a trial of that run. */
size_t rue_record_variant(const struct rue_record *record, const struct rue_store_trial *trial);

/* Whether the trial's data were a converted sample, which a study removes at its end. */
bool rue_record_is_sample(const struct rue_store_trial *trial);

/* The trial as reports show it; it borrows from `trial`. */
struct rue_trial_row rue_record_row(const struct rue_record *record, const struct rue_store_trial *trial);

#endif
