/* Writers of a page for people: terminal, HTML and Markdown. */
#ifndef RUE_PAGE_WRITERS_H
#define RUE_PAGE_WRITERS_H

#include "section.h"

/* Writes lines of at most style->columns (section_terminal.c). RUE_MEMORY; RUE_STORE: the stream failed. */
rue_status rue_page_write(const struct rue_page *page, const struct rue_report_style *style, FILE *stream,
                          rue_error *error) RUE_MUST_CHECK;

/* The first bytes of files in HTML and Markdown. */
#define RUE_PAGE_HTML_MARK     "<!DOCTYPE html><!-- rue -->\n"
#define RUE_PAGE_MARKDOWN_MARK "<!-- rue -->\n"

/* Writes a document that needs no other file and no network (section_html.c). `data` (optional) is JSON that
 * the document contains. RUE_MEMORY; RUE_STORE: the stream failed. */
rue_status rue_page_write_html(const struct rue_page *page, const char *title, const char *data, FILE *stream,
                               rue_error *error) RUE_MUST_CHECK;

/* Writes Markdown (section_markdown.c), unless `full` only what comes before the first heading; charts are
 * links to `plots`/NAME.svg if `plots` is not NULL. Errors as rue_page_write_html. */
rue_status rue_page_write_markdown(const struct rue_page *page, const char *plots, bool full, FILE *stream,
                                   rue_error *error) RUE_MUST_CHECK;

#endif
