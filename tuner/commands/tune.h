/* Commands that do what `rue tune` does, with the same options, and show something else of it. */
#ifndef RUE_TUNE_H
#define RUE_TUNE_H

#include "study.h"

struct rue_tune_variation {
    const struct rue_report *table, *json; /* that are shown */
    /* As in struct rue_study_steps. (optional) */
    rue_status (*beside)(struct rue_study *study, struct rue_findings *findings, void *context,
                         rue_error *error);
};

extern const struct rue_tune_variation rue_tune_compare; /* (compare.c) */

#endif
