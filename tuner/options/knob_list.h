/* The values of a knob as people list them: "32,64,128", "0..8", "batch,sample". */
#ifndef RUE_KNOB_LIST_H
#define RUE_KNOB_LIST_H

#include "error.h"
#include "space.h"

/* The knob's values in the space become those of the list. RUE_USAGE, beginning with `origin`
 * ("--batch-size"), when it is none. */
rue_status rue_knob_list_parse(struct rue_space *space, enum rue_knob knob, const char *text,
                               const char *origin, rue_error *error) RUE_MUST_CHECK;

#endif
