/* Reads a recommendation.json, to start from or to check. */
#ifndef RUE_RECOMMENDATION_FILE_H
#define RUE_RECOMMENDATION_FILE_H

#include "recommended.h"

struct rue_recommendation {
    const char *path;          /* as given */
    json_t *root;              /* owned */
    struct rue_findings found; /* facts of the run, without variants; the lists of changes are owned; the
                                  machine's JSON is canonical */
    /* Only of findings in a store (kept_findings.h): */
    bool under_way;  /* saved before the end: without variants */
    uint64_t trials; /* in the store at that time */
    size_t disturbed_count;
    uint64_t *disturbed; /* [disturbed_count] ids of disturbed trials; owned */
    struct rue_ranking_rules rules;
    const char **profiles; /* of the models; owned, set by rue_kept_rank */
    size_t count;
    struct rue_recommended *at; /* [count] */
};

/* Reads `path`, a file or the folder of a study. The caller closes `out`, which borrows `path`. RUE_DATA,
 * with the place in the file, if it is not a recommendation of this version; RUE_MEMORY. */
rue_status rue_recommendation_read(const char *path, struct rue_recommendation **out,
                                   rue_error *error) RUE_MUST_CHECK;

/* Reads the facts of the run: members of the root. */
void rue_recommendation_read_run(struct rue_json_reader *reader, const json_t *root,
                                 struct rue_findings *out);
void rue_recommendation_close(struct rue_recommendation *recommendation);

/* Usable CPUs of the machine of the recommendation, at least 1. */
int rue_recommendation_cpus(const struct rue_recommendation *recommendation);

#endif
