/* A tally: joint trials that were measured earlier or elsewhere, sorted into groups (one data mode under one
 * set of circumstances), models and configurations, and what the selection rules make of them. Filled from a
 * table (table.h) or from a store (record.h). */
#ifndef RUE_TALLY_H
#define RUE_TALLY_H

#include "findings.h"
#include "names.h"
#include "ranking_rules.h"

enum { RUE_TALLY_GROUPS_MAX = 1000, RUE_TALLY_CELLS_MAX = 8000000 };

struct rue_tally_trial {
    size_t group, model; /* numbers in the tally */
    struct rue_config config;
    enum rue_outcome outcome;
    double time_ns;     /* of the whole job, where ok */
    bool predicted;     /* extended from a truncated trial */
    uint64_t images;    /* that it ran: of a cell's ok trials only the longest count; 0 where not known */
    const char *reason; /* (optional) borrowed when added, then the tally's */
};

/* What a group is: facts without matrix and selection, which rue_tally_findings fills in. */
struct rue_tally_group {
    struct rue_variant_findings facts;
    char *label;                      /* (optional) owned, which facts.label borrows: see rue_tally_label */
    size_t set;                       /* groups of one set are shown together */
    size_t counts[RUE_OUTCOME_COUNT]; /* trials */
};

struct rue_tally {
    struct rue_names models, keys, reasons;
    size_t group_count;
    struct rue_tally_group *groups; /* [group_count], grows */
    size_t trial_count, trial_capacity;
    struct rue_tally_trial *trials; /* [trial_count], in the order added */
};

/* The group of that key, made where it is new (`*made`), with empty facts. RUE_DATA when there are too many.
 * A zeroed tally is empty. */
rue_status rue_tally_group(struct rue_tally *tally, const char *key, size_t *out, bool *made,
                           rue_error *error) RUE_MUST_CHECK;

/* Gives the group a label, once: what people call it. RUE_MEMORY. */
rue_status rue_tally_label(struct rue_tally *tally, size_t group, const char *label,
                           rue_error *error) RUE_MUST_CHECK;

/* Adds a trial; `model` names its model. RUE_MEMORY. */
rue_status rue_tally_add(struct rue_tally *tally, const struct rue_tally_trial *trial, const char *model,
                         rue_error *error) RUE_MUST_CHECK;

enum { RUE_TALLY_ALL = -1 };

/* Applies the rules to the groups of `set` (RUE_TALLY_ALL: to all). Variants stand in the order of
 * rue_findings_compare, configurations in grid order, models by name. Of the findings, the variants are
 * filled, the rest is zero; they borrow from the tally. RUE_USAGE for a
 * weight of a model that the tally does not have; RUE_DATA when a group has too many cells; RUE_MEMORY. */
rue_status rue_tally_findings(const struct rue_tally *tally, int set, const struct rue_ranking_rules *rules,
                              struct rue_findings **out, rue_error *error) RUE_MUST_CHECK;
void rue_tally_findings_close(struct rue_findings *findings);

/* Adds the groups of `set` to findings that are there, which then stand in that order. The rules have been
 * checked. RUE_DATA, RUE_MEMORY. */
rue_status rue_tally_add_findings(const struct rue_tally *tally, int set,
                                  const struct rue_ranking_rules *rules, struct rue_findings *findings,
                                  rue_error *error) RUE_MUST_CHECK;

/* RUE_INFEASIBLE when nothing could be ranked for one of the variants; RUE_INCONCLUSIVE where the run ended
 * early, and not because nothing runs. */
rue_status rue_tally_judge(const struct rue_findings *findings, rue_error *error) RUE_MUST_CHECK;

/* Frees all of it; the struct is empty again. */
void rue_tally_close(struct rue_tally *tally);

#endif
