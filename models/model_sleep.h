/* The sleeping model: replays a profile by sleeping on a device's timeline, as a GPU that works off one batch
 * after the other would keep the consumer waiting: end = max(previous end, submit) + cost. */
#ifndef RUE_MODEL_SLEEP_H
#define RUE_MODEL_SLEEP_H

#include "model.h"
#include "profile.h"

/* `profile` is copied. RUE_MEMORY. */
rue_status rue_model_sleep_open(const struct rue_profile *profile, struct rue_model *out,
                                rue_error *error) RUE_MUST_CHECK;

#endif
