#include "prepare_classes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"

enum { NUMBERS_MAX = 1000000, NUMBER_BYTES = 8 };

/* 0 if no label is higher. */
static int32_t highest_label(const struct rue_source *source)
{
    int32_t highest = 0;
    for (uint64_t i = 0; i < rue_source_count(source); i++)
        if (rue_source_label(source, i) > highest) highest = rue_source_label(source, i);
    return highest;
}

/* Zero-padded ("003"), so that sorted names have the order of the numbers. */
static rue_status name_numbers(struct rue_prepare_classes *out, int32_t highest, rue_error *error)
{
    size_t count = (size_t)highest + 1;
    int digits = snprintf(NULL, 0, "%" PRId32, highest);
    out->names = calloc(count, sizeof *out->names);
    out->text = calloc(count, NUMBER_BYTES);
    if (!out->names || !out->text) return rue_fail_memory(error, "class names", count * NUMBER_BYTES);
    for (size_t i = 0; i < count; i++) {
        char *name = out->text + i * NUMBER_BYTES;
        snprintf(name, NUMBER_BYTES, "%0*zu", digits, i);
        out->names[i] = name;
    }
    out->count = count;
    return RUE_OK;
}

/* Each name must be read back from a folder as the same class. */
static rue_status check_names(const struct rue_prepare_classes *classes, rue_error *error)
{
    for (size_t i = 0; i < classes->count; i++)
        if (!classes->names[i][0] || classes->names[i][0] == '.' || strchr(classes->names[i], '/'))
            return rue_fail(error, RUE_DATA, "the class '%.200s' cannot name a folder: rename it",
                            classes->names[i]);
    return RUE_OK;
}

rue_status rue_prepare_classes_open(const struct rue_source *source, bool by_name,
                                    struct rue_prepare_classes *out, rue_error *error)
{
    *out = (struct rue_prepare_classes){.count = rue_source_class_count(source)};
    if (out->count == 0 && by_name) {
        int32_t highest = highest_label(source);
        if (highest >= NUMBERS_MAX)
            return rue_fail(error, RUE_DATA,
                            "the label %" PRId32
                            " is too large to name a folder: choose another format, or give class names",
                            highest);
        return highest > 0 ? name_numbers(out, highest, error) : RUE_OK;
    }
    out->names = calloc(out->count + 1, sizeof *out->names);
    if (!out->names) return rue_fail_memory(error, "class names", out->count * sizeof *out->names);
    for (size_t i = 0; i < out->count; i++) out->names[i] = rue_source_class_name(source, i);
    return by_name ? check_names(out, error) : RUE_OK;
}

/* Names are read back in the order of their bytes, and only those of images. */
rue_status rue_prepare_classes_check_list(struct rue_prepare_classes *classes,
                                          const struct rue_source *source, const struct rue_sampler *sampler,
                                          uint64_t count, char why[RUE_REASON_BYTES], rue_error *error)
{
    int32_t number;
    bool *used = calloc(classes->count + 1, sizeof *used);
    if (!used) return rue_fail_memory(error, "class names", classes->count);
    for (uint64_t i = 0; classes->count && i < count; i++)
        used[rue_source_label(source, rue_sampler_item(sampler, i))] = true;
    *why = 0;
    for (size_t c = 0; !*why && c < classes->count; c++) {
        const char *name = classes->names[c];
        const char *problem = !used[c]                                        ? "has no image in the list"
                              : rue_csv_kind(name, &number) != RUE_CSV_WORD   ? "is a number"
                              : c && strcmp(classes->names[c - 1], name) >= 0 ? "is out of order"
                                                                              : NULL;
        if (problem)
            snprintf(why, RUE_REASON_BYTES, "labels are numbers, because the class '%.100s' %s", name,
                     problem);
    }
    free(used);
    if (*why) classes->count = 0;
    return RUE_OK;
}

void rue_prepare_classes_close(struct rue_prepare_classes *classes)
{
    free(classes->names);
    free(classes->text);
    *classes = (struct rue_prepare_classes){0};
}
