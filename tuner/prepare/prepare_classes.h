/* The class names of the destination: those of the source, or its label numbers if the format needs names. */
#ifndef RUE_PREPARE_CLASSES_H
#define RUE_PREPARE_CLASSES_H

#include "sampler.h"
#include "source.h"
#include "trial.h"

struct rue_prepare_classes {
    size_t count;       /* 0: labels have no names, or there are no labels */
    const char **names; /* [count] */
    char *text;         /* memory of names that are numbers */
};

/* Borrows the source's names until the close, which is needed also after an error. `by_name`: the format
 * needs names. RUE_DATA: a label is too large, or a name cannot be a folder; RUE_MEMORY. */
rue_status rue_prepare_classes_open(const struct rue_source *source, bool by_name,
                                    struct rue_prepare_classes *out, rue_error *error) RUE_MUST_CHECK;
/* For a list of the first `count` items of the sampler. If it would be read back with other labels, removes
 * the names and writes the reason to `why`; else `why` is "". RUE_MEMORY. */
rue_status rue_prepare_classes_check_list(struct rue_prepare_classes *classes,
                                          const struct rue_source *source, const struct rue_sampler *sampler,
                                          uint64_t count, char why[RUE_REASON_BYTES],
                                          rue_error *error) RUE_MUST_CHECK;
void rue_prepare_classes_close(struct rue_prepare_classes *classes);

#endif
