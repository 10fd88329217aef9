/* The member "forecast" of a recommendation, as reports/json_forecast.c writes it, read back. */
#ifndef RUE_KNOWLEDGE_JSON_H
#define RUE_KNOWLEDGE_JSON_H

#include "json_reader.h"
#include "recommended.h"

/* Fills `out->knowledge` and `out->profiles`. Of a version whose loader has other parameters it
 * stays NULL. Faults go to the reader; RUE_MEMORY, too. */
void rue_knowledge_read(struct rue_json_reader *reader, const json_t *forecast, struct rue_recommended *out);

#endif
