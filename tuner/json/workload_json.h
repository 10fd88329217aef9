/* A workload as JSON, as the protocol, the store and recommendations have it: {"seed":1,"shuffle":true,...}.
 */
#ifndef RUE_WORKLOAD_JSON_H
#define RUE_WORKLOAD_JSON_H

#include <jansson.h>

#include "error.h"
#include "json_fields.h"
#include "workload.h"

enum { RUE_WORKLOAD_TEXT_BYTES = 512 };

/* Absent (or NULL): the default. RUE_USAGE with the key that is wrong, and what it may be. */
rue_status rue_workload_read(const json_t *object, struct rue_workload *out, rue_error *error) RUE_MUST_CHECK;

/* Refuses what no single field of it shows to be wrong. */
void rue_workload_check(struct rue_json_reader *reader, const struct rue_workload *workload);

/* The object in one line: the identity of trials. "" without memory. */
void rue_workload_canonical(const struct rue_workload *workload, char out[RUE_WORKLOAD_TEXT_BYTES]);

#endif
