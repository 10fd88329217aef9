/* The record of a study: what its store says was measured, as a tally that the selection rules can be applied
 * to. Trials are told apart by their circumstances: job, workload, runner, machine, data. What belongs
 * together is a set; the first set is that of the last run, where it told what it found out, else of the
 * trial stored last. What the last run found out (recommendation_file.h) stands in place of what its trials
 * say alone. */
#ifndef RUE_RECORD_H
#define RUE_RECORD_H

#include <limits.h>

#include "recommendation_file.h"
#include "store.h"
#include "tally.h"

struct rue_record_set {
    const char *runner, *machine, *workload; /* borrowed from the record; the workload without its cache, ""
                                                for an imported table */
    uint64_t job_images;                     /* 0 when not known */
    size_t trials;                           /* joint ones */
    char recorded[32];                       /* when the last one was stored, UTC */
    char consumer[128];                      /* whose times the consumer's are, "" when not known */
    const char *data;                        /* where the data lay, or an imported table's name; borrowed */
};

struct rue_record {
    struct rue_tally tally; /* joint trials; a group's set is an index of `sets` */
    size_t set_count;
    struct rue_record_set *sets;     /* [set_count], newest first */
    size_t trials_ok, trials_not_ok; /* joint ones, of all sets */
    size_t probes;                   /* trials of other measures */
    bool running;                    /* a tuner is at work in the folder */
    int64_t last_run;                /* that stored a joint trial; 0: none */
    bool partial;                    /* the last run ended early, or what it found out is not known */
    char partial_reason[160];
    bool is_kept; /* what the last run found out is known, and nothing was measured or deleted since */
    struct rue_recommendation *kept; /* of the last run that kept any; NULL: none did */
    char store[PATH_MAX];            /* the store's file */
    char folder[PATH_MAX];           /* that it lies in */
    char name[256];                  /* the folder's */
    struct rue_record_group *groups; /* [groups of the tally] what else is known of them */
};

/* What an imported table calls the mode of a trial; NULL for trials that were measured. Borrowed. */
const char *rue_record_label(const struct rue_store_scenario *scenario);

/* Reads the store of the study at `path`, its folder or its store; writes nothing. RUE_DATA when there is
 * none, RUE_STORE when it is damaged, unreadable, another program's or no study at all, RUE_MEMORY. A store
 * without joint trials is no error. Nothing is to be closed where it fails. */
rue_status rue_record_read(const char *path, struct rue_record *out, rue_error *error) RUE_MUST_CHECK;
void rue_record_close(struct rue_record *record);

/* What the last run ranked by; else mean regret, three votes a model. Borrowed. */
const struct rue_ranking_rules *rue_record_rules(const struct rue_record *record);

/* The findings of set `set` (RUE_TALLY_ALL: of all), to be closed by rue_tally_findings_close; they borrow
 * from the record. Of set 0 and of all once alone. */
rue_status rue_record_findings(const struct rue_record *record, int set,
                               const struct rue_ranking_rules *rules, struct rue_findings **out,
                               rue_error *error) RUE_MUST_CHECK;

#endif
