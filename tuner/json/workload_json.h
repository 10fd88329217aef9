/* A workload as JSON in the protocol, the store and recommendations: {"seed":1,"shuffle":true,...}. */
#ifndef RUE_WORKLOAD_JSON_H
#define RUE_WORKLOAD_JSON_H

#include <jansson.h>

#include "error.h"
#include "json_fields.h"
#include "workload.h"

enum { RUE_WORKLOAD_TEXT_BYTES = RUE_VIEWS_TEXT_BYTES + 1024 };

/* NULL or null: the default. RUE_USAGE names the wrong key and its valid values. */
rue_status rue_workload_read(const json_t *object, struct rue_workload *out, rue_error *error) RUE_MUST_CHECK;

/* Refuses invalid combinations of fields. */
void rue_workload_check(struct rue_json_reader *reader, const struct rue_workload *workload);

/* The object on one line, part of a trial's identity. "" if memory is short. */
void rue_workload_canonical(const struct rue_workload *workload, char out[RUE_WORKLOAD_TEXT_BYTES]);

#endif
