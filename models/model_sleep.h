/* A model that sleeps as long as its profile says. Batches follow each other on the timeline of a device, as
 * on a GPU: end = max(previous end, submit) + cost. */
#ifndef RUE_MODEL_SLEEP_H
#define RUE_MODEL_SLEEP_H

#include "model.h"
#include "profile.h"

/* `profile` is copied. RUE_MEMORY. */
rue_status rue_model_sleep_open(const struct rue_profile *profile, struct rue_model *out,
                                rue_error *error) RUE_MUST_CHECK;

#endif
