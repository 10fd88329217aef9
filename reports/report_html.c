/* report.html: the page of a study. */
#include <stdlib.h>

#include "report.h"
#include "study_page.h"

static rue_status render(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error)
{
    struct rue_page page = {0};
    char title[RUE_STUDY_TITLE_BYTES], *data = NULL;
    (void)style;
    rue_status status = rue_report_json_text(findings, &data, error);
    if (status == RUE_OK) status = rue_study_page_make(findings, &page, error);
    if (status == RUE_OK)
        status = rue_page_write_html(&page, rue_study_page_title(findings, title), data, stream, error);
    rue_page_close(&page);
    free(data);
    return status;
}

const struct rue_report rue_report_html = {
    .name = "html", .file = "report.html", .mark = RUE_PAGE_HTML_MARK, .render = render};
