/* A recommendation.json, read back: from a file, to start from or to be checked, or from a store, which keeps
 * what a run found out as one. */
#ifndef RUE_RECOMMENDATION_FILE_H
#define RUE_RECOMMENDATION_FILE_H

#include "recommended.h"

struct rue_recommendation {
    const char *path;                  /* as it was given */
    json_t *root;                      /* owned */
    struct rue_findings found;         /* facts of the run, no variants and no ledger; notices are owned; the
                                          machine's         words are canonical */
    struct rue_findings_ledger ledger; /* owns its scenarios; all zero where the file has none */
    struct rue_ranking_rules rules;    /* of the ledger */
    size_t count;
    struct rue_recommended *at; /* [count] */
};

/* Reads `path`, a file or the folder of a study. `out` is closed by the caller; `path` is borrowed for its
 * life. RUE_DATA, with the place in the file, for what is no recommendation of this version; RUE_MEMORY. */
rue_status rue_recommendation_read(const char *path, struct rue_recommendation **out,
                                   rue_error *error) RUE_MUST_CHECK;

/* The same of what the store at `path` keeps, which has a ledger: RUE_STORE where it makes no sense. */
rue_status rue_recommendation_read_kept(const char *text, const char *path, struct rue_recommendation **out,
                                        rue_error *error) RUE_MUST_CHECK;
void rue_recommendation_close(struct rue_recommendation *recommendation);

/* Of the CPUs, what a loader had there: at least 1. */
int rue_recommendation_cpus(const struct rue_recommendation *recommendation);

/* The findings, to be closed by rue_tally_findings_close; they borrow from the recommendation. Once alone:
 * they take its matrices. Where `rules` judge otherwise than the run's, nothing is claimed. RUE_MEMORY. */
rue_status rue_recommendation_rank(struct rue_recommendation *recommendation,
                                   const struct rue_ranking_rules *rules, struct rue_findings **out,
                                   rue_error *error) RUE_MUST_CHECK;

/* Which rows of a store a variant is about, as the ledger names them: of rue_store_scenario_key. */
void rue_recommendation_scenario(const char *scenario, char out[RUE_LEDGER_KEY_BYTES]);

/* The rules as the ledger has them; returns owned, NULL without memory. */
char *rue_recommendation_rules_json(const struct rue_ranking_rules *rules);

#endif
