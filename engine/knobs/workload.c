#include "workload.h"

#include <stdio.h>
#include <string.h>

const char *const rue_cache_names[] = {RUE_CACHE_WARM, RUE_CACHE_COLD, RUE_CACHE_AS_IS, NULL};
const char *const rue_transform_names[] = {"eval", NULL};

#define OFFSET(field) offsetof(struct rue_workload, field)

const struct rue_workload_field rue_workload_fields[] = {
#define X(at, field, kind, words, least, most, usual, times, written, option, argument, text, help) \
    {#field, RUE_WORKLOAD_##kind, words, least, most, usual, times, written, option, OFFSET(field)},
    RUE_WORKLOAD_BY_OPTION(X, )
#undef X
#define X(field, kind, words, least, most, usual, times, written) \
    {#field, RUE_WORKLOAD_##kind, words, least, most, usual, times, written, NULL, OFFSET(field)},
        RUE_WORKLOAD_BY_PROGRAM(X)
#undef X
};
const size_t rue_workload_field_count = sizeof rue_workload_fields / sizeof *rue_workload_fields;

uint64_t rue_workload_get(const struct rue_workload *workload, const struct rue_workload_field *field)
{
    const char *at = (const char *)workload + field->offset;
    if (field->kind == RUE_WORKLOAD_FLAG) return *(const bool *)at;
    return field->kind == RUE_WORKLOAD_COUNT ? *(const uint64_t *)at : (uint64_t) * (const int *)at;
}

void rue_workload_set(struct rue_workload *workload, const struct rue_workload_field *field, uint64_t value)
{
    char *at = (char *)workload + field->offset;
    if (field->kind == RUE_WORKLOAD_FLAG)
        *(bool *)at = value != 0;
    else if (field->kind == RUE_WORKLOAD_COUNT)
        *(uint64_t *)at = value;
    else
        *(int *)at = (int)value;
}

char *rue_workload_text(struct rue_workload *workload, const struct rue_workload_field *field)
{
    return (char *)workload + field->offset;
}

struct rue_workload rue_workload_default(void)
{
    struct rue_workload workload = {0};
    for (size_t i = 0; i < rue_workload_field_count; i++) {
        const struct rue_workload_field *field = &rue_workload_fields[i];
        if (field->kind == RUE_WORKLOAD_TEXT)
            snprintf(rue_workload_text(&workload, field), RUE_WORKLOAD_WORD_BYTES, "%s", field->words[0]);
        else
            rue_workload_set(&workload, field, field->fallback);
    }
    return workload;
}

bool rue_workload_costs_alike(const struct rue_workload *a, const struct rue_workload *b)
{
    bool alike = true;
    for (size_t i = 0; i < rue_workload_field_count; i++) {
        const struct rue_workload_field *field = &rue_workload_fields[i];
        if (!field->changes_times) continue;
        alike &= field->kind == RUE_WORKLOAD_TEXT
                     ? strcmp((const char *)a + field->offset, (const char *)b + field->offset) == 0
                     : rue_workload_get(a, field) == rue_workload_get(b, field);
    }
    return alike;
}
