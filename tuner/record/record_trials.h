/* The trials of a study's last run, for reports that list them. */
#ifndef RUE_RECORD_TRIALS_H
#define RUE_RECORD_TRIALS_H

#include "record.h"

struct rue_record_trials;

/* Lets `findings` walk over the trials, once. They borrow from `record`. RUE_MEMORY. The caller
 * closes `*out`, NULL after a failure. */
rue_status rue_record_trials_open(const struct rue_record *record, struct rue_findings *findings,
                                  struct rue_record_trials **out, rue_error *error) RUE_MUST_CHECK;

/* The status of the walk: RUE_STORE if a trial could not be read. */
rue_status rue_record_trials_close(struct rue_record_trials *trials, rue_error *error) RUE_MUST_CHECK;

#endif
