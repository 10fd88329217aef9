/* Profiles of models as JSON of others: a trial's request, a device table. */
#ifndef RUE_PROFILE_JSON_H
#define RUE_PROFILE_JSON_H

#include "json_fields.h"
#include "profile.h"

/* The costs that `object` tells (as rue_profile_json writes them) take the place of those in `out`, whose
 * name and device stay. The reader refuses points that do not ascend and times that are none. */
void rue_profile_read(struct rue_json_reader *reader, const json_t *object, struct rue_profile *out);

#endif
