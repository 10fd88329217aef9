/* What the JSON reports say of findings in the same words. `config` and `model` are numbers in the cost
 * matrix; null stands for RUE_NONE. `all`: knobs at their fallback are written, too. Otherwise as
 * json_document.h has it. */
#ifndef RUE_JSON_FINDINGS_H
#define RUE_JSON_FINDINGS_H

#include "findings.h"
#include "json_document.h"

json_t *rue_json_config_of(struct rue_json_document *document, const struct rue_variant_findings *variant,
                           size_t config, bool all);

/* "full" or "truncated": the trials that the times of a configuration rest on; null where it is not ranked,
 * or was not tried on every model. */
json_t *rue_json_verified(const struct rue_variant_findings *variant, size_t config);

json_t *rue_json_model_of(const struct rue_variant_findings *variant, size_t model);

/* The regrets and votes of a configuration, as members of `object`. */
void rue_json_put_standing(struct rue_json_document *document, json_t *object,
                           const struct rue_variant_findings *variant, size_t config);

/* The configuration with its regrets and votes. */
json_t *rue_json_standing(struct rue_json_document *document, const struct rue_variant_findings *variant,
                          size_t config, bool all);

/* What configurations are ranked by, as members of `object`. */
void rue_json_put_rules(struct rue_json_document *document, json_t *object,
                        const struct rue_variant_findings *variant);

/* The answers beside the winner, as members of `object`; null where they are not known. */
void rue_json_put_answers(struct rue_json_document *document, json_t *object,
                          const struct rue_variant_findings *variant, bool all);

/* What is minimised, and the limit of the first batch, as members of `object`. */
void rue_json_put_goal(struct rue_json_document *document, json_t *object,
                       const struct rue_variant_findings *variant);

/* What is claimed of the recommendation; null where nothing is. */
json_t *rue_json_certificate(struct rue_json_document *document, const struct rue_variant_findings *variant);

/* What is gained over what people use anyway; null where nothing is known of that. */
json_t *rue_json_baselines(struct rue_json_document *document, const struct rue_variant_findings *variant,
                           bool all);

/* What happened to the machine on the way. */
json_t *rue_json_notices(struct rue_json_document *document, const struct rue_findings *findings);

/* For each model its fastest configuration and the time. */
json_t *rue_json_best_by_model(struct rue_json_document *document, const struct rue_variant_findings *variant,
                               bool all);

#endif
