/* Makes a table (table.h) a study of its own, for `rue show` and the other commands that read studies. */
#ifndef RUE_TABLE_STUDY_H
#define RUE_TABLE_STUDY_H

#include "ranking_rules.h"
#include "table.h"

/* Stores the table's trials and the findings in `folder`, all or nothing, and then writes the report files.
 * `findings` are those of the table, by `rules`; they get the study's name and folder. Trials that an earlier
 * call stored are not added again. `path` is the table's. RUE_USAGE: the folder has a study with measured
 * trials; RUE_DATA: a study cannot hold the table; RUE_STORE, RUE_MEMORY; the statuses of signals. */
rue_status rue_table_study_write(const struct rue_table *table, const char *path, const char *folder,
                                 const struct rue_ranking_rules *rules, struct rue_findings *findings,
                                 rue_error *error) RUE_MUST_CHECK;

#endif
