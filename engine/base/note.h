/* Notes: sentences for users in one text, separated by "; ". */
#ifndef RUE_NOTE_H
#define RUE_NOTE_H

#include <stdarg.h>
#include <stddef.h>

/* Adds a sentence, without a full stop, to the text `note` of up to `bytes` with its NUL. Control characters,
 * which file names may have, become '?'. A sentence that does not fit is shortened in its middle, or left out
 * if there is almost no space: so add the most important one first. */
void rue_note_add(char *note, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
void rue_note_add_list(char *note, size_t bytes, const char *format, va_list values)
    __attribute__((format(printf, 3, 0)));

/* Adds a name of up to `length` bytes to the text `list`: "jpg, cls". Not twice; "..." at the end: there are
 * more. */
void rue_note_list_name(char *list, size_t bytes, const char *name, size_t length);

#endif
