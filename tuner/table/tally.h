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

struct rue_tally {
    struct rue_names models, keys, texts;
    size_t group_count;
    struct rue_variant_findings *groups; /* [group_count], grows; facts without matrix and selection */
    size_t trial_count, trial_capacity;
    struct rue_tally_trial *trials; /* [trial_count], in the order added */
};

/* The group of that key, created where it is new (`*created`), with empty facts. RUE_DATA when there are too
 * many. A zeroed tally is empty. */
rue_status rue_tally_find_group(struct rue_tally *tally, const char *key, size_t *out, bool *created,
                                rue_error *error) RUE_MUST_CHECK;

/* A copy of the text that lives as long as the tally. RUE_MEMORY. */
rue_status rue_tally_copy_text(struct rue_tally *tally, const char *text, const char **out,
                               rue_error *error) RUE_MUST_CHECK;

/* Adds a trial; `model` names its model. RUE_MEMORY. */
rue_status rue_tally_add_trial(struct rue_tally *tally, const struct rue_tally_trial *trial,
                               const char *model, rue_error *error) RUE_MUST_CHECK;

/* Applies the rules. Variants stand in the order of
 * rue_findings_compare, configurations in grid order, models by name. Of the findings, the variants are
 * filled, the rest is zero; they borrow from the tally. RUE_USAGE for a
 * weight of a model that the tally does not have; RUE_DATA when a group has too many cells; RUE_MEMORY. */
rue_status rue_tally_make_findings(const struct rue_tally *tally, const struct rue_ranking_rules *rules,
                                   struct rue_findings **out, rue_error *error) RUE_MUST_CHECK;
void rue_tally_findings_close(struct rue_findings *findings);

/* RUE_INFEASIBLE when nothing could be ranked for one of the variants; RUE_INCONCLUSIVE where the run ended
 * early, and not because nothing runs. */
rue_status rue_tally_check_recommended(const struct rue_findings *findings, rue_error *error) RUE_MUST_CHECK;

/* Frees all of it; the struct is empty again. */
void rue_tally_close(struct rue_tally *tally);

#endif
