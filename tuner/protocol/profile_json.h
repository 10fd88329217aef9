/* Profiles of models as JSON, in the request of a trial and in device tables. */
#ifndef RUE_PROFILE_JSON_H
#define RUE_PROFILE_JSON_H

#include "json_fields.h"
#include "profile.h"

/* Reads costs, as rue_profile_json writes them, into `out`; its name and device stay. Batch sizes must
 * ascend. */
void rue_profile_read(struct rue_json_reader *reader, const json_t *object, struct rue_profile *out);

#endif
