/* The options of rue_python.h. */
#ifndef RUE_PYTHON_OPTIONS_H
#define RUE_PYTHON_OPTIONS_H

#include "config.h"
#include "error.h"
#include "workload.h"

struct rue_python_options {
    struct rue_variant data; /* format, image_key and label_key; "": detect, the defaults */
    struct rue_config config;
    struct rue_workload workload;
    uint64_t memory_bytes; /* limit on the memory of batches; 0: none */
};

/* Reads {"batch_size": 64, "transform": "train", "augment": "mild", ...}; null is the default. `augment` is a
 * preset or the text of a recipe. RUE_USAGE: "batch_size 0: expected a whole number from 1 to 65536". */
rue_status rue_python_read_options(const char *text, struct rue_python_options *out,
                                   rue_error *error) RUE_MUST_CHECK;

#endif
