/* The values of knobs as people list them: "32,64,128", "0..8", "batch,sample". */
#ifndef RUE_KNOB_LIST_H
#define RUE_KNOB_LIST_H

#include "options.h"
#include "space.h"

/* The values of one knob that were asked for. Borrowed strings. */
struct rue_knob_choice {
    char name[RUE_KNOB_TEXT_BYTES];
    const char *values; /* "32,64", as far as a semicolon */
    const char *origin; /* what gave it, "--batch-size": for messages */
};

struct rue_knob_choices {
    size_t count;
    struct rue_knob_choice at[RUE_KNOBS_MAX]; /* [count], distinct names */
};

/* What the options of a command say: those that have the name of a knob of rue's own, and --knob, which may
 * name any. Strings are the options'. RUE_USAGE where --knob is not NAME=LIST or names a knob twice. */
rue_status rue_knob_choices_read(const struct rue_options *options, struct rue_knob_choices *out,
                                 rue_error *error) RUE_MUST_CHECK;

/* Adds one. `name` is shorter than RUE_KNOB_TEXT_BYTES; false where it is there already, or no room is left.
 */
bool rue_knob_choices_add(struct rue_knob_choices *choices, const char *name, const char *values,
                          const char *origin);

/* The one of that name, or NULL. */
const struct rue_knob_choice *rue_knob_choices_find(const struct rue_knob_choices *choices, const char *name);

/* The knob's values in the space become those of the list, which ends at a semicolon. RUE_USAGE, beginning
 * with `origin`
 * ("--batch-size"), when it is none. */
rue_status rue_knob_list_parse(struct rue_space *space, size_t knob, const char *text, const char *origin,
                               rue_error *error) RUE_MUST_CHECK;

#endif
