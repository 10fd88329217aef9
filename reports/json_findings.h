/* What the JSON reports say of findings in the same words. `config` and `model` are numbers in the cost
 * matrix; null stands for RUE_NONE. `all`: knobs at their fallback are written, too. Otherwise as
 * json_document.h has it. */
#ifndef RUE_JSON_FINDINGS_H
#define RUE_JSON_FINDINGS_H

#include "findings.h"
#include "json_document.h"
#include "section.h"

json_t *rue_json_config_of(const struct rue_variant_findings *variant, size_t config, bool all);

/* "full" or "truncated": the trials that the times of a configuration rest on; null where it is not ranked,
 * or was not tried on every model. */
json_t *rue_json_verified(const struct rue_variant_findings *variant, size_t config);

json_t *rue_json_model_of(const struct rue_variant_findings *variant, size_t model);

/* The regrets and votes of a configuration, as members of `object`. */
void rue_json_put_standing(json_t **object, const struct rue_variant_findings *variant, size_t config);

/* The configuration with its regrets and votes. */
json_t *rue_json_standing(const struct rue_variant_findings *variant, size_t config, bool all);

/* The same with what its times rest on, as members of `object`. */
void rue_json_put_row(json_t **object, const struct rue_variant_findings *variant, size_t config, bool all);

/* What configurations are ranked by, as members of `object`. */
void rue_json_put_rules(json_t **object, const struct rue_variant_findings *variant);

/* The answers beside the winner, as members of `object`; null where they are not known. */
void rue_json_put_answers(json_t **object, const struct rue_variant_findings *variant, bool all);

/* What is minimised, and the limit of the first batch, as members of `object`. */
void rue_json_put_goal(json_t **object, const struct rue_variant_findings *variant);

/* What is claimed of the recommendation; null where nothing is. */
json_t *rue_json_certificate(const struct rue_variant_findings *variant);

/* What is gained over what people use anyway; null where nothing is known of that. */
json_t *rue_json_baselines(const struct rue_variant_findings *variant, bool all);

/* What is said of the variant, as text without no-break spaces; null where that is nothing. */
json_t *rue_json_said(void (*say)(struct rue_page *page, const struct rue_variant_findings *variant),
                      const struct rue_variant_findings *variant);

/* How the run went, as members of `object`. */
void rue_json_put_course(json_t **object, const struct rue_findings *findings);

/* For each model its fastest configuration and the time. */
json_t *rue_json_best_by_model(const struct rue_variant_findings *variant, bool all);

/* What a later study can start from; null where the strategy did not predict. */
json_t *rue_json_forecast(const struct rue_findings *findings, const struct rue_variant_findings *variant);

#endif
