#include "shell_word.h"

#include <stdio.h>
#include <string.h>

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";

const char *rue_shell_word(const char *text, char *out, size_t bytes)
{
    static const char quote[] = "'\\''";
    size_t used = 0;
    if (*text && !text[strspn(text, plain)] && strlen(text) < bytes) return strcpy(out, text);
    out[used++] = '\'';
    for (; *text && used + sizeof quote + 1 <= bytes; text++)
        if (*text == '\'')
            used += (size_t)snprintf(out + used, bytes - used, "%s", quote);
        else
            out[used++] = *text;
    snprintf(out + used, bytes - used, "'");
    return out;
}
