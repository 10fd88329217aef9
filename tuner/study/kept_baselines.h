/* The comparison with baselines in kept findings (kept_findings.h). */
#ifndef RUE_KEPT_BASELINES_H
#define RUE_KEPT_BASELINES_H

#include "findings.h"
#include "json_document.h"
#include "json_reader.h"

/* null without baselines. */
json_t *rue_kept_baselines_json(struct rue_json_document *document,
                                const struct rue_baseline_findings *baselines);

/* Reads member "baselines", whose columns are below `config_count`. None where an older rue wrote the rest.
 */
void rue_kept_baselines_read(struct rue_json_reader *reader, const json_t *object, size_t config_count,
                             struct rue_baseline_findings *out);

#endif
