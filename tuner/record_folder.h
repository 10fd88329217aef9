/* Where a record lies: the store that a path leads to, its folder, and what the last run's report says there.
 */
#ifndef RUE_RECORD_FOLDER_H
#define RUE_RECORD_FOLDER_H

#include "record.h"
#include "store_reader.h"

/* Fills in store, folder and name for `path`, a study's folder or its store. RUE_DATA when there is nothing
 * or no study, RUE_STORE when it cannot be looked at or is a file that is no store. */
rue_status rue_record_find(const char *path, struct rue_record *record, rue_error *error) RUE_MUST_CHECK;

/* Fills in what the report tells of the last run: whether it is partial and why, and what it was asked. A
 * report of an earlier run than the one that measured last (`record->last_run`) tells nothing of that one,
 * which was killed. RUE_STORE. */
rue_status rue_record_read_report(struct rue_record *record, struct rue_store_reader *reader,
                                  rue_error *error) RUE_MUST_CHECK;

#endif
