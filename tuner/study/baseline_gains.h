/* What is gained over what people use anyway, and where too little is. */
#ifndef RUE_BASELINE_GAINS_H
#define RUE_BASELINE_GAINS_H

#include "findings.h"
#include "json_document.h"
#include "json_reader.h"

/* Fills in the gains of `baselines`, whose rows have columns of the matrix and names. A baseline is
 * recommended in place of the best configuration where whole jobs of both on every model do not prove that
 * one to be faster, and it is better by no more than half a point of regret, by the objective: of several
 * baselines the best. */
void rue_baseline_gains_find(const struct rue_cost_matrix *matrix, double confidence,
                             struct rue_selection *selection, struct rue_baseline_findings *baselines);

/* The rows in kept findings (kept_findings.h), without the gains: they are found anew. */
json_t *rue_baseline_gains_json(struct rue_json_document *document,
                                const struct rue_baseline_findings *baselines);

/* Reads member "baselines", whose columns are below `config_count`. None where an older rue wrote the rest.
 */
void rue_baseline_gains_read(struct rue_json_reader *reader, const json_t *object, size_t config_count,
                             struct rue_baseline_findings *out);

#endif
