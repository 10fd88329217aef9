#include "note.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
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

void rue_note_list_name(char *list, size_t bytes, const char *name, size_t length)
{
    static const char more[] = "...";
    size_t used = strlen(list);
    length = strnlen(name, length); /* a name in a file may hold a NUL */
    bool full = used >= strlen(more) && strcmp(list + used - strlen(more), more) == 0;
    for (const char *at = list; *at && !full; at += strcspn(at, ","), at += strspn(at, ", "))
        full = strncmp(at, name, length) == 0 && (!at[length] || at[length] == ',');
    if (full || length == 0) return;
    bool fits = used + length + sizeof ", , ..." < bytes;
    snprintf(list + used, bytes - used, "%s%.*s", used ? ", " : "", fits ? (int)length : (int)strlen(more),
             fits ? name : more);
}
