#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "advice.h"

/* Holds two of the longest paths and some text. */
enum { TEXT_BYTES = 12288 };

rue_status rue_fail(rue_error *error, rue_status status, const char *format, ...)
{
    if (!error || error->status != RUE_OK) return status;
    error->status = status;
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rue_error_shorten(text, error->message, sizeof error->message);
    return status;
}

void rue_error_shorten(const char *text, char *out, size_t bytes)
{
    static const char gap[] = " ... ";
    size_t length = strlen(text);
    if (length < bytes || bytes < 4 * sizeof gap) {
        snprintf(out, bytes, "%s", text);
        return;
    }
    size_t end = (bytes - sizeof gap) / 2, begin = bytes - sizeof gap - end;
    while (begin > 0 && (text[begin] & 0xC0) == 0x80) begin--;
    while (end > 0 && (text[length - end] & 0xC0) == 0x80) end--;
    snprintf(out, bytes, "%.*s%s%s", (int)begin, text, gap, text + length - end);
}

rue_status rue_fail_memory(rue_error *error, const char *purpose, unsigned long long bytes)
{
    return rue_fail(error, RUE_MEMORY, "cannot allocate %llu bytes for %s%s", bytes, purpose,
                    rue_advice(ENOMEM));
}

void rue_error_clear(rue_error *error)
{
    if (error) *error = (rue_error){0};
}
