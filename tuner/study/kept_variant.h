/* One variant of kept findings (kept_findings.h). */
#ifndef RUE_KEPT_VARIANT_H
#define RUE_KEPT_VARIANT_H

#include "findings.h"
#include "json_document.h"
#include "json_reader.h"
#include "ranking_rules.h"

/* `key`: which rows of the store it is about. */
json_t *rue_kept_variant_json(struct rue_json_document *document, const struct rue_variant_findings *variant,
                              const char *key);

/* Ranks it by the rules, without what the run claimed unless `claims`. It borrows from `object`; its matrix
 * and selection are owned by the caller where nothing was refused. */
void rue_kept_variant_read(struct rue_json_reader *reader, const json_t *object,
                           const struct rue_ranking_rules *rules, bool claims,
                           struct rue_variant_findings *out);

#endif
