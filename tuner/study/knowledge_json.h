/* The member "forecast" of a recommendation, as reports/json_findings.c writes it, read back. */
#ifndef RUE_KNOWLEDGE_JSON_H
#define RUE_KNOWLEDGE_JSON_H

#include "json_fields.h"
#include "recommended.h"

/* Fills `out->knowledge` and `out->profiles`. A forecast that this rue does not understand, as that of a
 * version whose loader has other parameters, is passed over: knowledge stays NULL. RUE_MEMORY goes to the
 * reader. */
void rue_knowledge_read(struct rue_json_reader *reader, const json_t *forecast, struct rue_recommended *out);

#endif
