/* Where a record lies: the store that a path leads to, its folder, and what the last run found out. */
#ifndef RUE_RECORD_FOLDER_H
#define RUE_RECORD_FOLDER_H

#include "record.h"
#include "store_reader.h"

/* Fills in store, folder and name for `path`, a study's folder or its store. RUE_DATA when there is nothing
 * or no study, RUE_STORE when it cannot be looked at or is a file that is no store. */
rue_status rue_record_find(const char *path, struct rue_record *record, rue_error *error) RUE_MUST_CHECK;

/* Fills in what the last run found out, whether that is partial and why; the trials have been counted.
 * RUE_STORE, RUE_MEMORY. */
rue_status rue_record_read_findings(struct rue_record *record, struct rue_store_reader *reader,
                                    rue_error *error) RUE_MUST_CHECK;

#endif
