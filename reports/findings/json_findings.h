/* Findings as JSON (recommendation.schema.json): tables of members for writers and readers (json_fields.h),
 * and computed values. The context of writers is the variant's findings, that of readers its cost matrix. */
#ifndef RUE_JSON_FINDINGS_H
#define RUE_JSON_FINDINGS_H

#include "findings.h"
#include "json_document.h"
#include "json_fields.h"
#include "section.h"

enum { RUE_JSON_VARIANTS_MAX = 64, RUE_JSON_REPEATS_MAX = 1 << 20 };

/* Of struct rue_findings. */
extern const struct rue_field rue_json_run_fields[];
extern const struct rue_field rue_json_contention_fields[];
extern const struct rue_field rue_json_provenance_fields[];
extern const struct rue_field rue_json_strategy_fields[];

/* Of struct rue_variant_findings: the data; claims and job; numbers of trials. */
extern const struct rue_field rue_json_data_fields[];
extern const struct rue_field rue_json_variant_fields[];
extern const struct rue_field rue_json_evidence_fields[];
extern const struct rue_field rue_json_baselines_fields[]; /* of struct rue_baseline_findings */

/* A size_t, the column of a configuration in the matrix; RUE_NONE is null. */
extern const struct rue_field_type rue_json_config_index;

/* The data of a cell that the ranking rules need, so that it can be ranked again. */
struct rue_json_cell {
    size_t time_count;
    double *times_ns; /* [time_count] owned by a reader; a writer borrows the cell's */
    double estimate_ns, estimate_sd;
    size_t trials;
    bool predicted;
    size_t first_count;
    double *first_batches_ns; /* [first_count] the same */
    double first_estimate_ns;
    size_t missed, infeasible;
    const char *reason; /* borrowed */
};
extern const struct rue_field rue_json_cell_fields[];

/* Of struct rue_knowledge without the loader's parameters, and of struct rue_knowledge_model. */
extern const struct rue_field rue_json_loader_fields[];
extern const struct rue_field rue_json_consumer_fields[];

struct rue_json_parameters {
    size_t count;
    struct rue_json_parameter {
        const char *name;
        double value;
        size_t covariance_count;
        double covariance[RUE_PIPELINE_PARAMETER_COUNT];
    } at[RUE_PIPELINE_PARAMETER_COUNT];
};
extern const struct rue_field rue_json_parameters_fields[];
struct rue_json_parameters rue_json_parameters(const struct rue_knowledge *knowledge);

json_t *rue_json_config_at(const struct rue_variant_findings *variant, size_t config);
json_t *rue_json_model_at(const struct rue_variant_findings *variant, size_t model);

/* The configuration with its regrets and votes; null for RUE_NONE. */
json_t *rue_json_score(const struct rue_variant_findings *variant, size_t config);

/* The same as members of `object`. */
void rue_json_put_score(json_t **object, const struct rue_variant_findings *variant, size_t config);

/* "full", "truncated" or "predicted"; "": not ranked. */
const char *rue_json_verified(const struct rue_variant_findings *variant, size_t config);

/* The same, and the basis of its times. */
void rue_json_put_row(json_t **object, const struct rue_variant_findings *variant, size_t config);

/* The ranking rules as members of `object`. */
void rue_json_put_rules(json_t **object, const struct rue_variant_findings *variant);

/* The answers beside the winner as members of `object`; null: unknown. */
void rue_json_put_answers(json_t **object, const struct rue_variant_findings *variant);

/* The gain over baselines; null: unknown. */
json_t *rue_json_baselines(const struct rue_variant_findings *variant);

/* The sentence as text without no-break spaces; null for an empty one. */
json_t *rue_json_sentence(void (*say)(struct rue_page *page, const struct rue_variant_findings *variant),
                          const struct rue_variant_findings *variant);

/* All sentences of a page, with headings left out. A new reference; NULL: out of memory. */
json_t *rue_json_sentences(const struct rue_page *page);

/* The members of the report, and of a variant in it, from which all others can be computed again, without the
 * lists of changes. Readers of the report read no others. */
json_t *rue_json_run_facts(const struct rue_findings *findings);
json_t *rue_json_variant_facts(const struct rue_findings *findings,
                               const struct rue_variant_findings *variant);

/* The data that a later study can start from; null without predictions. */
json_t *rue_json_forecast(const struct rue_findings *findings, const struct rue_variant_findings *variant);

#endif
