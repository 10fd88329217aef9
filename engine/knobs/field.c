#include "field.h"

#include <limits.h>

uint64_t rue_field_number(const struct rue_field *field, const void *from)
{
    const char *at = (const char *)from + field->offset;
    if (field->bytes == sizeof(bool)) return *(const bool *)at;
    return field->bytes == sizeof(uint32_t) ? *(const uint32_t *)at : *(const uint64_t *)at;
}

void rue_field_set_number(const struct rue_field *field, void *to, uint64_t value)
{
    char *at = (char *)to + field->offset;
    if (field->bytes == sizeof(bool))
        *(bool *)at = value != 0;
    else if (field->bytes == sizeof(uint32_t))
        *(uint32_t *)at = (uint32_t)value;
    else
        *(uint64_t *)at = value;
}

uint64_t rue_field_most(const struct rue_field *field)
{
    if (field->most) return field->most;
    return field->bytes == sizeof(uint32_t) ? INT_MAX : INT64_MAX;
}
