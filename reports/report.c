#include "report.h"

#include <assert.h>

const struct rue_report *const rue_reports[] = {&rue_report_json, &rue_report_csv, &rue_report_table, NULL};

/* A report and what it is about. */
struct rendering {
    const struct rue_report *report;
    const struct rue_findings *findings;
};

static rue_status render_report(const void *context, FILE *stream, rue_error *error)
{
    static const struct rue_report_style plain = {0};
    const struct rendering *rendering = context;
    return rendering->report->render(rendering->findings, &plain, stream, error);
}

rue_status rue_report_write(const struct rue_report *report, const struct rue_findings *findings,
                            const char *folder, rue_error *error)
{
    assert(report->file);
    const struct rendering rendering = {report, findings};
    return rue_report_write_file(folder, report->file, render_report, &rendering, error);
}
