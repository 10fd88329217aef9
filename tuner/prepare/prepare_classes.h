/* The class names of what is written: those of the source, or, where a format tells labels by names alone and
 * the source has numbers without names, these numbers. */
#ifndef RUE_PREPARE_CLASSES_H
#define RUE_PREPARE_CLASSES_H

#include "source.h"

struct rue_prepare_classes {
    size_t count;       /* 0: labels are numbers without names, or there are none */
    const char **names; /* [count] */
    char *text;         /* of numbers */
};

/* Borrows the source's names for its life. RUE_DATA for numbers that are too many or below 0; RUE_MEMORY;
 * what reading labels may say. To be closed also where it fails. */
rue_status rue_prepare_classes_open(const struct rue_source *source, bool by_name,
                                    struct rue_prepare_classes *out, rue_error *error) RUE_MUST_CHECK;
void rue_prepare_classes_close(struct rue_prepare_classes *classes);

#endif
