/* Reads one trial of a record, with what was expected of it. */
#ifndef RUE_TRIAL_LIFE_H
#define RUE_TRIAL_LIFE_H

#include "record.h"
#include "trial_page.h"

/* Reads trial `id`; call it once for a record. `findings` (nullable) are those of the record. RUE_USAGE: the
 * study has no such trial; RUE_STORE, RUE_MEMORY. The caller closes `out`, also on failure. */
rue_status rue_trial_life_read(const struct rue_record *record, const struct rue_findings *findings,
                               uint64_t id, struct rue_trial_life *out, rue_error *error) RUE_MUST_CHECK;
void rue_trial_life_close(struct rue_trial_life *life);

#endif
