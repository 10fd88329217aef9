#include "note.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

enum { ROOM_MIN = 64 };

void rue_note_add_list(char *note, size_t bytes, const char *format, va_list values)
{
    char text[2 * PATH_MAX + 256];
    size_t used = strlen(note);
    vsnprintf(text, sizeof text, format, values);
    for (char *at = text; *at; at++)
        if (iscntrl((unsigned char)*at)) *at = '?';
    if (!text[0] || bytes - used < ROOM_MIN) return;
    if (used) used += (size_t)snprintf(note + used, bytes - used, "; ");
    rue_error_shorten(text, note + used, bytes - used);
}

void rue_note_add(char *note, size_t bytes, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    rue_note_add_list(note, bytes, format, values);
    va_end(values);
}
