/* Commands that tune as `rue tune` does, with the same options and another output. */
#ifndef RUE_TUNE_H
#define RUE_TUNE_H

#include "study.h"

struct rue_tune_variation {
    const struct rue_report *table, *json;
    /* (optional) As in struct rue_study_steps. */
    rue_status (*extend)(struct rue_study *study, struct rue_findings *findings, void *context,
                         rue_error *error);
};

extern const struct rue_tune_variation rue_tune_compare; /* (compare.c) */

#endif
