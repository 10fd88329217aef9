/* A table kept as a study, so that it is found, shown and queried like one. */
#ifndef RUE_TABLE_IMPORT_H
#define RUE_TABLE_IMPORT_H

#include "table.h"

/* Adds the trials of the table, which was read from `input`, to the store in `folder`, made where missing,
 * all or none; nothing where the store holds this table already. Then writes the reports of `findings`, whose
 * command line stands for the run and whose rows this makes, there. Says on stderr what was done unless
 * `quiet`. RUE_STORE, also when a tuner is at work in the folder or its store holds trials of a tuner or of
 * another table, which is then left as it was; RUE_DATA when a name is too long for the store or the table
 * does not have all knobs that every configuration shows. */
rue_status rue_table_import(const struct rue_table *table, const char *input, const char *folder,
                            struct rue_findings *findings, bool quiet, rue_error *error) RUE_MUST_CHECK;

#endif
