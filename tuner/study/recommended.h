/* One variant of a recommendation.json: its facts, its cells, and the prior of a later study. */
#ifndef RUE_RECOMMENDED_H
#define RUE_RECOMMENDED_H

#include <jansson.h>

#include "findings.h"
#include "json_fields.h"
#include "ranking_rules.h"

enum { RUE_RECOMMENDED_PROFILE_BYTES = 1024 };

struct rue_recommended {
    struct rue_variant_findings found; /* without matrix, selection and answers; borrows strings from the
                                          document; variant.path "": unknown */
    struct rue_cost_matrix *matrix;    /* owned; times of the job only if found.goal is RUE_GOAL_TIME */
    char measured_with[64];
    uint64_t max_first_batch_ns;                     /* 0: no limit */
    enum rue_objective objective;                    /* by which the run ranked */
    double *weights;                                 /* [models] by which the run ranked */
    char (*profiles)[RUE_RECOMMENDED_PROFILE_BYTES]; /* [models] canonical JSON; "": unknown */
    size_t best;                             /* index of the matrix's configs; RUE_NONE: no recommendation */
    const struct rue_baseline_row *baseline; /* the fastest baseline except the recommended configuration;
                                                NULL: none */
    bool predicted;                          /* the file has a forecast for this loader */
    struct rue_knowledge *knowledge;         /* the forecast; NULL if the file has none, until
                                                        rue_recommended_make_knowledge */
};

/* Reports errors to the reader, including RUE_MEMORY. Close `out` in any case. */
void rue_recommended_read(struct rue_json_reader *reader, const json_t *object, struct rue_recommended *out);
void rue_recommended_close(struct rue_recommended *recommended);

/* Seconds of the job; NaN: unknown. */
double rue_recommended_s(const struct rue_recommended *recommended, size_t model, size_t config);

/* Whether a configuration failed or is infeasible on any model; a first batch that is too late counts. */
bool rue_recommended_is_unfit(const struct rue_recommended *recommended, size_t config);

/* Makes a forecast from the times if the file has none. Fails as rue_knowledge_from_jobs does; RUE_DATA: no
 * times. */
rue_status rue_recommended_make_knowledge(struct rue_recommended *recommended, int cpus, bool in_turn,
                                          rue_error *error) RUE_MUST_CHECK;

#endif
