/* What stands behind a model's name: "resnet50@h100+jitter=5%+host=20%". */
#ifndef RUE_MODEL_EXTRAS_H
#define RUE_MODEL_EXTRAS_H

#include "error.h"
#include "profile.h"

/* Where the extras of `spec` begin, at a '+'; its end where it has none. */
const char *rue_model_extras(const char *spec);

/* Reads those of `spec` into `out` and writes them behind `out->name`, always in the same way. RUE_USAGE for
 * one that is unknown, out of bounds or given twice, for any behind a model that really works, and for a name
 * that gets too long. */
rue_status rue_model_extras_add(const char *spec, struct rue_profile *out, rue_error *error) RUE_MUST_CHECK;

#endif
