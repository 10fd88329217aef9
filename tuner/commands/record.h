/* The record of a study, read from its store: how many trials it holds, and what its last run found out. The
 * trials that this run was about are ranked again where it was killed, or where trials were added or deleted
 * since. Trials under other circumstances (data, job, workload, runner or machine) are counted only. */
#ifndef RUE_RECORD_H
#define RUE_RECORD_H

#include <limits.h>

#include "recommendation_file.h"
#include "store.h"
#include "tally.h"

struct rue_record {
    struct rue_recommendation *last; /* what the last run that measured anything noted; NULL: none did */
    bool is_current;                 /* it is what that run found out, and the store is as it was then */
    struct rue_tally tally;          /* joint trials that the run was about, a group for each variant */
    size_t trials_ok, trials_not_ok; /* joint ones, of all circumstances */
    size_t other_trials;             /* of them, those under other circumstances */
    size_t probes;                   /* trials of other measures */
    char recorded[32];               /* when the last of the tally's trials was stored, UTC */
    bool running;                    /* a tuner is at work in the folder */
    bool partial;                    /* the last run ended early, or what it found out does not stand */
    char partial_reason[160];
    char store[PATH_MAX];  /* the store's file */
    char folder[PATH_MAX]; /* that it lies in */
    char name[256];        /* the folder's */
};

/* Reads the store of the study at `path`, its folder or its store; writes nothing. RUE_DATA when there is
 * none, RUE_STORE when it is damaged, unreadable, another program's or no study at all, RUE_MEMORY. A store
 * without joint trials is no error. Nothing is to be closed where it fails. */
rue_status rue_record_read(const char *path, struct rue_record *out, rue_error *error) RUE_MUST_CHECK;
void rue_record_close(struct rue_record *record);

/* Whether there is anything to rank. */
bool rue_record_is_empty(const struct rue_record *record);

/* What the last run ranked by; borrowed. The record is not empty. */
const struct rue_ranking_rules *rue_record_rules(const struct rue_record *record);

/* The findings, to be closed by rue_tally_findings_close; they borrow from the record, which is not empty.
 * Once alone. RUE_USAGE as of rue_ranking_rules_check, RUE_MEMORY. */
rue_status rue_record_findings(const struct rue_record *record, const struct rue_ranking_rules *rules,
                               struct rue_findings **out, rue_error *error) RUE_MUST_CHECK;

/* The number of the variant that the trial is about among those of the last run; RUE_NONE: it is not one of
 * its trials. */
size_t rue_record_variant(const struct rue_record *record, const struct rue_store_trial *trial);

/* What a table calls the mode of the trial; NULL for trials that were measured. Borrowed from `trial`. */
const char *rue_record_label(const struct rue_record *record, const struct rue_store_trial *trial);

#endif
