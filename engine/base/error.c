#include "error.h"

#include <stdarg.h>
#include <stdio.h>

rue_status rue_fail(rue_error *error, rue_status status, const char *format, ...)
{
    if (!error || error->status != RUE_OK) return status;
    error->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

rue_status rue_fail_memory(rue_error *error, const char *what, unsigned long long bytes)
{
    return rue_fail(error, RUE_MEMORY, "cannot allocate %llu bytes for %s", bytes, what);
}

void rue_error_clear(rue_error *error)
{
    if (error) *error = (rue_error){0};
}
