/* Texts of pages: the files page.css, chart.css and page.js, which the build makes into strings. */
#ifndef RUE_PAGE_TEXTS_H
#define RUE_PAGE_TEXTS_H

extern const char rue_page_css[], rue_chart_css[], rue_page_js[];

#endif
