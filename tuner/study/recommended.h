/* One variant's part of a recommendation.json, read back: the facts and the cells that the rules were told,
 * and what a later study can start from. */
#ifndef RUE_RECOMMENDED_H
#define RUE_RECOMMENDED_H

#include <jansson.h>

#include "findings.h"
#include "json_fields.h"
#include "ranking_rules.h"

enum { RUE_RECOMMENDED_PROFILE_BYTES = 1024 };

struct rue_recommended {
    struct rue_variant_findings found; /* without matrix, selection and answers; strings are the document's;
                                          variant.path "": not said */
    struct rue_cost_matrix *matrix;    /* owned; of goals beside the time, of other times */
    char measured_with[64];
    uint64_t max_first_batch_ns;                     /* 0: no limit */
    enum rue_objective objective;                    /* that and the models' weights: by what it was ranked */
    double *weights;                                 /* [models] */
    char (*profiles)[RUE_RECOMMENDED_PROFILE_BYTES]; /* [models] canonical JSON; "" where it is not known */
    size_t best;                             /* of the matrix's configs; RUE_NONE: nothing was recommended */
    const struct rue_baseline_row *baseline; /* the fastest of those that it was measured beside, the
                                                recommended one aside; NULL: there is none */
    bool predicted;                          /* the file has a forecast of this loader */
    struct rue_knowledge *knowledge; /* that; NULL without one, until rue_recommended_make_knowledge */
};

/* Faults go to the reader, RUE_MEMORY, too; to be closed in any case. */
void rue_recommended_read(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out);
void rue_recommended_close(struct rue_recommended *recommended);

/* Seconds of the job; NaN where they are not known. */
double rue_recommended_s(const struct rue_recommended *recommended, size_t model, size_t config);

/* Whether a configuration failed or is infeasible on some model, one whose first batch comes too late, too.
 */
bool rue_recommended_is_unfit(const struct rue_recommended *recommended, size_t config);

/* The number of a model of that name; RUE_NONE: there is none. */
size_t rue_recommended_model(const struct rue_recommended *recommended, const char *name);

/* Where the part has no forecast, makes one of its times: as rue_knowledge_from_jobs, and RUE_DATA without
 * any. */
rue_status rue_recommended_make_knowledge(struct rue_recommended *recommended, int cpus, bool in_turn,
                                          rue_error *error) RUE_MUST_CHECK;

/* Ranks it, without what was claimed unless `claims`. Its matrix changes hands: it is that of `out`, whose
 * matrix and selection are the caller's. RUE_MEMORY. */
rue_status rue_recommended_rank(struct rue_recommended *recommended, const struct rue_ranking_rules *rules,
                                bool claims, struct rue_variant_findings *out,
                                rue_error *error) RUE_MUST_CHECK;

#endif
