#include "report.h"

const struct rue_report *const rue_reports[] = {&rue_report_json, &rue_report_csv, &rue_report_html,
                                                &rue_report_table, NULL};
