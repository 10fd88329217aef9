/* A tally: joint trials from a table (table.h) or a store (record.h). Trials are sorted by
 * group (one data mode under the same conditions), model and configuration. */
#ifndef RUE_TALLY_H
#define RUE_TALLY_H

#include "findings.h"
#include "ledger_row.h"
#include "names.h"

enum { RUE_TALLY_GROUPS_MAX = 1000, RUE_TALLY_CELLS_MAX = 8000000 };

struct rue_tally {
    struct rue_names models, keys, texts;
    size_t group_count;
    struct rue_variant_findings *groups; /* [group_count], without matrix and selection */
    size_t trial_count, trial_capacity;
    struct rue_ledger_row *trials; /* [trial_count], in the order added */
};

/* Finds or creates (`*created`) the group with that key. RUE_DATA: too many groups; RUE_MEMORY. A zeroed
 * tally is empty. */
rue_status rue_tally_find_group(struct rue_tally *tally, const char *key, size_t *out, bool *created,
                                rue_error *error) RUE_MUST_CHECK;

/* Copies a text; the copy is valid until the tally is closed. RUE_MEMORY. */
rue_status rue_tally_copy_text(struct rue_tally *tally, const char *text, const char **out,
                               rue_error *error) RUE_MUST_CHECK;

/* Copies a joint trial without its arrays. `variant` is the number of its group, `cost_ns` the time of the
 * whole job if it is ok. Only the longest ok trials of a cell count (`images`; 0: unknown). `model` is the
 * name of the model. RUE_MEMORY. */
rue_status rue_tally_add_trial(struct rue_tally *tally, const struct rue_ledger_row *trial, const char *model,
                               rue_error *error) RUE_MUST_CHECK;

/* Findings with matrices, to be filled (findings_fill.h). Variants are in the order of rue_findings_compare,
 * configurations in grid order, models by name. Only the variants are filled in; they borrow from the tally.
 * RUE_DATA: a group has too many cells; RUE_MEMORY. */
rue_status rue_tally_make_findings(const struct rue_tally *tally, struct rue_findings **out,
                                   rue_error *error) RUE_MUST_CHECK;

/* The tally is empty afterwards. */
void rue_tally_close(struct rue_tally *tally);

#endif
