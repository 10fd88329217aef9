/* report.html: the page of a study. */
#include <stdlib.h>

#include "page_writers.h"
#include "report.h"
#include "study_page.h"

rue_status rue_study_page_write(const struct rue_page *page, const struct rue_findings *findings,
                                FILE *stream, rue_error *error)
{
    char title[300], *data = NULL;
    snprintf(title, sizeof title, "%s: data loader study by rue",
             findings->study[0] ? findings->study : "unnamed");
    rue_status status = rue_report_json_text(findings, &data, error);
    if (status == RUE_OK) status = rue_page_write_html(page, title, data, stream, error);
    free(data);
    return status;
}

static rue_status render(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error)
{
    struct rue_page page = {0};
    (void)style;
    rue_status status = rue_study_page_make(findings, &page, error);
    if (status == RUE_OK) status = rue_study_page_write(&page, findings, stream, error);
    rue_page_close(&page);
    return status;
}

const struct rue_report rue_report_html = {
    .name = "html", .file = "report.html", .mark = RUE_PAGE_HTML_MARK, .render = render};
