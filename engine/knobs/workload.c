#include "workload.h"

#include <stdio.h>
#include <string.h>

const char *const rue_cache_names[] = {RUE_CACHE_WARM, RUE_CACHE_COLD, RUE_CACHE_AS_IS, NULL};
const char *const rue_transform_names[] = {RUE_TRANSFORM_EVAL, RUE_TRANSFORM_TRAIN, NULL};

#define RUE_FIELD_RECIPE RUE_FIELD_TEXT
#define FIELD(member, kind, words, least, most, usual, times, written)                     \
    {#member,                                                                              \
     RUE_FIELD_##kind,                                                                     \
     RUE_FIELD_AT(rue_workload, member),                                                   \
     RUE_FIELD_OPTIONAL | RUE_FIELD_OMIT * !(written) | RUE_FIELD_CHANGES_TIMES * (times), \
     least,                                                                                \
     most,                                                                                 \
     usual,                                                                                \
     words,                                                                                \
     NULL,                                                                                 \
     0,                                                                                    \
     0,                                                                                    \
     NULL},

const struct rue_field rue_workload_fields[] = {
#define X(at, member, kind, words, least, most, usual, times, written, option, argument, text, help) \
    FIELD(member, kind, words, least, most, usual, times, written)
    RUE_WORKLOAD_BY_OPTION(X, )
#undef X
        RUE_WORKLOAD_BY_PROGRAM(FIELD){0}};

const char *const rue_workload_options[] = {
#define X(at, member, kind, words, least, most, usual, times, written, option, argument, text, help) option,
    RUE_WORKLOAD_BY_OPTION(X, ) NULL};
#undef X

struct rue_workload rue_workload_default(void)
{
    struct rue_workload workload = {0};
    for (const struct rue_field *field = rue_workload_fields; field->name; field++)
        if (field->kind == RUE_FIELD_TEXT)
            snprintf((char *)&workload + field->offset, field->bytes, "%s",
                     field->words ? field->words[0] : "");
        else
            rue_field_set_number(field, &workload, field->fallback);
    return workload;
}

bool rue_workload_trains(const struct rue_workload *workload)
{
    return strcmp(workload->transform, RUE_TRANSFORM_TRAIN) == 0;
}

bool rue_workload_same_cost(const struct rue_workload *a, const struct rue_workload *b)
{
    bool equal = true;
    for (const struct rue_field *field = rue_workload_fields; field->name; field++) {
        if (!(field->flags & RUE_FIELD_CHANGES_TIMES)) continue;
        equal &= field->kind == RUE_FIELD_TEXT
                     ? strcmp((const char *)a + field->offset, (const char *)b + field->offset) == 0
                     : rue_field_number(field, a) == rue_field_number(field, b);
    }
    return equal;
}
