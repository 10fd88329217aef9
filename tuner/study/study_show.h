/* The plan of a study, for people and for programs. */
#ifndef RUE_STUDY_SHOW_H
#define RUE_STUDY_SHOW_H

#include "report.h"
#include "study.h"

struct json_t;

/* A knob as it is typed: "batch-size". */
const char *rue_study_option_name(const struct rue_knob_info *knob, char out[RUE_KNOB_TEXT_BYTES]);

/* Shows the plan on `out`. */
void rue_study_show_plan(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                         const struct rue_report_style *style, FILE *out);

/* A line of it that a command adds. */
void rue_study_show_step(const char *name, const char *text, const struct rue_report_style *style, FILE *out);

/* The plan as an object; returns owned, NULL without memory. */
struct json_t *rue_study_plan_json(const struct rue_study_setup *setup);

#endif
