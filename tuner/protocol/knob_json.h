/* Declarations of knobs as JSON, as runners, stores and recommendations have them:
 *
 *   {"name":"multiprocessing_context","kind":"category","values":["fork","spawn"],"default":"fork"}
 *
 * kind: count (whole numbers from "min" to "max", or of "values"), number ("values"), category ("values",
 * words), flag. Optional: "default" (the first value), "needs_workers" (true: makes no difference without
 * workers), "pytorch" (the DataLoader's argument), "help".
 *
 * {"name":"parallelism","absent":true} says that the loader does not have one of rue's own knobs. */
#ifndef RUE_KNOB_JSON_H
#define RUE_KNOB_JSON_H

#include <jansson.h>

#include "error.h"
#include "knob.h"

/* rue's own knobs and those of the array (NULL: none). Equal arrays return the same list, which lives as long
 * as the program. RUE_USAGE with the knob and what is wrong; RUE_MEMORY. Not thread-safe. */
rue_status rue_knob_json_read(const json_t *array, const struct rue_knobs **out,
                              rue_error *error) RUE_MUST_CHECK;

#endif
