/* A file that rue writes: whole or not at all, and never in place of one that rue did not write. */
#ifndef RUE_OUTPUT_H
#define RUE_OUTPUT_H

#include "report.h"

struct rue_output {
    const char *folder, *name; /* the file is `folder`/`name` */
    const char *mark;          /* what every file that rue writes there begins with */
};

/* RUE_STORE where something lies there that does not begin with the mark, or that is not a regular file. */
rue_status rue_output_check(const struct rue_output *output, rue_error *error) RUE_MUST_CHECK;

/* Writes what `render` does under a temporary name (part.h), flushes it to the disk, then renames it: the
 * file is the old one or the new one, whole, whatever happens. Checks first. RUE_STORE, with the path and
 * what to do, when the disk or the folder refuses; RUE_MEMORY. */
rue_status rue_output_write(const struct rue_output *output,
                            rue_status (*render)(const void *context, FILE *stream, rue_error *error),
                            const void *context, rue_error *error) RUE_MUST_CHECK;

struct rue_output rue_report_output(const struct rue_report *report, const char *folder);

/* Writes every report that is a file, also when another one failed: `written` [bytes] lists those that were.
 * As rue_output_write for the first that was not; the message names the others. */
rue_status rue_output_write_reports(const struct rue_report *const *reports,
                                    const struct rue_findings *findings, const char *folder, char *written,
                                    size_t bytes, rue_error *error) RUE_MUST_CHECK;

/* Whether each of the reports (nullable, NULL at the end) may be written to the folder: see rue_output_check.
 * Also RUE_STORE where `input` (nullable), a table that is read, is one of them. */
rue_status rue_output_check_reports(const struct rue_report *const *reports, const char *folder,
                                    const char *input, rue_error *error) RUE_MUST_CHECK;

#endif
