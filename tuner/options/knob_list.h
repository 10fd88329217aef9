/* Lists of values of knobs: "32,64,128", "0..8", "batch,sample". */
#ifndef RUE_KNOB_LIST_H
#define RUE_KNOB_LIST_H

#include "options.h"
#include "space.h"

/* The requested values of one knob. Borrowed strings. */
struct rue_knob_choice {
    char name[RUE_KNOB_TEXT_BYTES];
    const char *values; /* "32,64", up to a semicolon */
    const char *origin; /* "--batch-size", for messages */
};

struct rue_knob_choices {
    size_t count;
    struct rue_knob_choice at[RUE_KNOBS_MAX]; /* [count], distinct names */
};

/* Reads the options that have the name of one of rue's own knobs, and --knob, which may name any knob.
 * Borrows strings from the options. RUE_USAGE: --knob is not NAME=LIST, or names a knob twice. */
rue_status rue_knob_choices_read(const struct rue_options *options, struct rue_knob_choices *out,
                                 rue_error *error) RUE_MUST_CHECK;

/* Adds one. `name` is shorter than RUE_KNOB_TEXT_BYTES. False: it exists already, or the list is full. */
bool rue_knob_choices_add(struct rue_knob_choices *choices, const char *name, const char *values,
                          const char *origin);

/* The choice of that name, or NULL. */
const struct rue_knob_choice *rue_knob_choices_find(const struct rue_knob_choices *choices, const char *name);

/* Sets the knob's values in the space to those of the list, which ends at a semicolon. RUE_USAGE, beginning
 * with `origin` ("--batch-size"), if it is not a list. */
rue_status rue_knob_list_parse(struct rue_space *space, size_t knob, const char *text, const char *origin,
                               rue_error *error) RUE_MUST_CHECK;

#endif
