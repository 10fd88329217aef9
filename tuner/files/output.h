/* Files that rue writes: complete or not at all, and never in place of a file that rue did not write. */
#ifndef RUE_OUTPUT_H
#define RUE_OUTPUT_H

#include "report.h"

struct rue_output {
    const char *folder, *name; /* the file is `folder`/`name` */
    const char *mark;          /* the first bytes of every file that rue writes there */
};

/* Checks the name, lets `render` write a temporary file (part.h), flushes it to the disk and renames it. At
 * any time, the file is the complete old or the complete new one. RUE_STORE with the path and what to do;
 * RUE_MEMORY. */
rue_status rue_output_write(const struct rue_output *output,
                            rue_status (*render)(const void *context, FILE *stream, rue_error *error),
                            const void *context, rue_error *error) RUE_MUST_CHECK;

/* The same for the file `path` that `option` names ("--html"; for messages), in an existing folder. A pipe or
 * a character device, such as /dev/null, is written in place; /dev/stdout is standard output. Also RUE_USAGE:
 * the path names no file. */
rue_status rue_output_check_file(const char *option, const char *path, const char *mark,
                                 rue_error *error) RUE_MUST_CHECK;
rue_status rue_output_write_file(const char *option, const char *path, const char *mark,
                                 rue_status (*render)(const void *context, FILE *stream, rue_error *error),
                                 const void *context, rue_error *error) RUE_MUST_CHECK;

struct rue_output rue_report_output(const struct rue_report *report, const char *folder);

/* Writes all reports that are files, even after one fails. `written` [bytes] lists the written ones. Returns
 * the first error, as rue_output_write; its message names the other failed ones. */
rue_status rue_output_write_reports(const struct rue_report *const *reports,
                                    const struct rue_findings *findings, const char *folder, char *written,
                                    size_t bytes, rue_error *error) RUE_MUST_CHECK;

/* RUE_STORE: something that is not a file of rue has the name of a report (nullable, NULL at the end), or a
 * report would replace the table `input` (nullable). */
rue_status rue_output_check_reports(const struct rue_report *const *reports, const char *folder,
                                    const char *input, rue_error *error) RUE_MUST_CHECK;

#endif
