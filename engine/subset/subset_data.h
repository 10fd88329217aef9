/* The data of which a subset chooses items. */
#ifndef RUE_SUBSET_DATA_H
#define RUE_SUBSET_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rue_source;

/* What a subset is chosen from. The functions get `source`. */
struct rue_subset_data {
    const struct rue_source *source;
    const char *path; /* for messages */
    uint64_t count;
    bool has_labels;
    size_t class_count;
    const char *(*class_name)(const struct rue_source *source, size_t class_index);
    int32_t (*label)(const struct rue_source *source, uint64_t item);
    void (*key)(const struct rue_source *source, uint64_t item, char *out, size_t bytes);
};

#endif
