/* A report renders findings to a stream. One file per report, registered in report.c. */
#ifndef RUE_REPORT_H
#define RUE_REPORT_H

#include <stdio.h>

#include "findings.h"
#include "section.h"

struct rue_report {
    const char *name;
    const char *file; /* file in the study's folder; NULL: the report is only shown */
    const char *mark; /* the first bytes of the file, in every version of rue: at most 64 */
    /* RUE_MEMORY; RUE_STORE: the stream failed. Does not close the stream. */
    rue_status (*render)(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error);
};

extern const struct rue_report rue_report_json;                             /* recommendation.json */
extern const struct rue_report rue_report_csv;                              /* trials.csv */
extern const struct rue_report rue_report_html;                             /* report.html */
extern const struct rue_report rue_report_table;                            /* for the terminal */
extern const struct rue_report rue_report_compare, rue_report_compare_json; /* of `rue compare` */

/* The reports of a tuning run, NULL at the end. */
extern const struct rue_report *const rue_reports[];

/* recommendation.json on one line with all digits, for the store. `*out` is owned. RUE_MEMORY. */
rue_status rue_report_json_text(const struct rue_findings *findings, char **out,
                                rue_error *error) RUE_MUST_CHECK;

#endif
