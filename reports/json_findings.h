/* Findings as JSON: the tables of what recommendation.json says of them (recommendation.schema.json), which
 * writers and readers walk over (json_fields.h), and what is computed for it. Writers give the variant's
 * findings as context, readers its cost matrix. */
#ifndef RUE_JSON_FINDINGS_H
#define RUE_JSON_FINDINGS_H

#include "findings.h"
#include "json_document.h"
#include "json_fields.h"
#include "section.h"

enum { RUE_JSON_VARIANTS_MAX = 64, RUE_JSON_REPEATS_MAX = 1 << 20 };

/* Of struct rue_findings: the run, and who made it where. */
extern const struct rue_field rue_json_run_fields[];
extern const struct rue_field rue_json_provenance_fields[];
extern const struct rue_field rue_json_ledger_fields[]; /* of struct rue_findings_ledger, but for the rules */

/* Of struct rue_variant_findings: what the data are, what is known of them beside their cells and ranking,
 * and how many trials that rests on. */
extern const struct rue_field rue_json_data_fields[];
extern const struct rue_field rue_json_variant_fields[];
extern const struct rue_field rue_json_evidence_fields[];
extern const struct rue_field rue_json_baselines_fields[]; /* of struct rue_baseline_findings */

/* A size_t that is the number of a configuration; RUE_NONE is null. Refused where it is not one of the
 * matrix. */
extern const struct rue_field_type rue_json_config_index;

/* What the rules were told of a cell, so that they can be applied again. */
struct rue_json_cell {
    size_t time_count;
    double *times_ns; /* [time_count] owned once it is read, else the cell's */
    double estimate_ns, estimate_sd;
    size_t trials;
    bool predicted;
    size_t first_count;
    double *first_batches_ns; /* [first_count], likewise */
    double first_estimate_ns;
    size_t missed, infeasible;
    const char *reason; /* borrowed */
};
extern const struct rue_field rue_json_cell_fields[];

/* Of struct rue_knowledge, but for the parameters of its loader, and struct rue_knowledge_model. */
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

/* ---- writing ---- */

json_t *rue_json_config_at(const struct rue_variant_findings *variant, size_t config);
json_t *rue_json_model_at(const struct rue_variant_findings *variant, size_t model);

/* The configuration with its regrets and votes; null where it is RUE_NONE. */
json_t *rue_json_score(const struct rue_variant_findings *variant, size_t config);

/* The same as members of `object`, null each where it is RUE_NONE. */
void rue_json_put_score(json_t **object, const struct rue_variant_findings *variant, size_t config);

/* "full" or "truncated": the trials that the times of a configuration rest on; "" where it is not ranked, or
 * was not tried on every model. */
const char *rue_json_verified(const struct rue_variant_findings *variant, size_t config);

/* The same with what its times rest on. */
void rue_json_put_row(json_t **object, const struct rue_variant_findings *variant, size_t config);

/* What configurations are ranked by, and what is minimised, as members of `object`. */
void rue_json_put_rules(json_t **object, const struct rue_variant_findings *variant);

/* The answers beside the winner, as members of `object`; null where they are not known. */
void rue_json_put_answers(json_t **object, const struct rue_variant_findings *variant);

/* What is gained over what people use anyway; null where nothing is known of that. */
json_t *rue_json_baselines(const struct rue_variant_findings *variant);

/* What is said of the variant, as text without no-break spaces; null where that is nothing. */
json_t *rue_json_sentence(void (*say)(struct rue_page *page, const struct rue_variant_findings *variant),
                          const struct rue_variant_findings *variant);

/* What a later study can start from; null where the strategy did not predict. */
json_t *rue_json_forecast(const struct rue_findings *findings, const struct rue_variant_findings *variant);

#endif
