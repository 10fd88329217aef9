/* The file of a report: written whole, or not at all. */
#ifndef RUE_REPORT_FILE_H
#define RUE_REPORT_FILE_H

#include <stdio.h>

#include "error.h"

/* Writes what `render` does into `folder`/`file` under a temporary name, flushes it to the disk, then renames
 * it: the file is the old one or the new one, whole, whatever happens. RUE_STORE, with the path and what to
 * do, when the disk or the folder refuses; RUE_MEMORY. */
rue_status rue_report_write_file(const char *folder, const char *file,
                                 rue_status (*render)(const void *context, FILE *stream, rue_error *error),
                                 const void *context, rue_error *error) RUE_MUST_CHECK;

/* For renderers: flushes the stream; RUE_STORE when that or any write before it failed. */
rue_status rue_report_finish(FILE *stream, rue_error *error) RUE_MUST_CHECK;

#endif
