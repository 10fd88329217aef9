/* Reads a recommendation.json: a file, to start from or to check, or the findings of a run in a store. */
#ifndef RUE_RECOMMENDATION_FILE_H
#define RUE_RECOMMENDATION_FILE_H

#include "recommended.h"
#include "store.h"

struct rue_recommendation {
    const char *path;          /* as given */
    json_t *root;              /* owned */
    struct rue_findings found; /* facts of the run, without variants and ledger; the lists of changes are
                                  owned; the machine's JSON is canonical */
    struct rue_findings_ledger ledger; /* owns its lists and rules; all zero if the file has none */
    struct rue_ranking_rules rules;    /* of the ledger */
    size_t count;
    struct rue_recommended *at; /* [count] */
};

/* Reads `path`, a file or the folder of a study. The caller closes `out`, which borrows `path`. RUE_DATA,
 * with the place in the file, if it is not a recommendation of this version; RUE_MEMORY. */
rue_status rue_recommendation_read(const char *path, struct rue_recommendation **out,
                                   rue_error *error) RUE_MUST_CHECK;

/* Reads the findings in the store at `path`, which include a ledger. RUE_STORE if they are invalid. */
rue_status rue_recommendation_read_kept(const char *text, const char *path, struct rue_recommendation **out,
                                        rue_error *error) RUE_MUST_CHECK;
void rue_recommendation_close(struct rue_recommendation *recommendation);

/* Usable CPUs of the machine of the recommendation, at least 1. */
int rue_recommendation_cpus(const struct rue_recommendation *recommendation);

/* Ranks by `rules`. The caller closes `out` with rue_tally_findings_close; it borrows from the recommendation
 * and acquires its matrices, so call this once. The run's claims are dropped if its rules rank differently.
 * RUE_MEMORY. */
rue_status rue_recommendation_rank(struct rue_recommendation *recommendation,
                                   const struct rue_ranking_rules *rules, struct rue_findings **out,
                                   rue_error *error) RUE_MUST_CHECK;

/* The name in the ledger for the store's rows of a scenario, of any model. `workload` is canonical. */
void rue_recommendation_scenario(const struct rue_store_scenario *scenario, const char *workload,
                                 char out[RUE_LEDGER_KEY_BYTES]);

/* The rules as JSON for the ledger; the caller frees it; NULL if out of memory. */
char *rue_recommendation_rules_json(const struct rue_ranking_rules *rules);

#endif
