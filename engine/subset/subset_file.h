/* A subset that a file lists: one item a line, all by their names or all by their numbers. */
#ifndef RUE_SUBSET_FILE_H
#define RUE_SUBSET_FILE_H

#include "picks.h"
#include "subset_data.h"

/* Adds the items of the file `path`. Errors as rue_subset_choose. */
rue_status rue_subset_file_add(struct rue_picks *picks, const char *path, const struct rue_subset_data *data,
                               rue_error *error) RUE_MUST_CHECK;

#endif
