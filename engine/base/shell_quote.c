#include "shell_quote.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=+@%";
static const char quote[] = "'", escaped_quote[] = "'\\''", ellipsis[] = " ...";

/* Appends `text` if it fits; returns the length with it even if not. */
static size_t append_bytes(const char *text, size_t length, size_t at, char *out, size_t bytes)
{
    if (at + length < bytes) memcpy(out + at, text, length);
    return at + length;
}

size_t rue_shell_quote(const char *word, char *out, size_t bytes)
{
    size_t used = 0;
    bool safe = *word && !word[strspn(word, plain)];
    if (!safe) used = append_bytes(quote, 1, used, out, bytes);
    for (const char *at = word; *at; at++)
        used = !safe && *at == '\'' ? append_bytes(escaped_quote, sizeof escaped_quote - 1, used, out, bytes)
                                    : append_bytes(at, 1, used, out, bytes);
    if (!safe) used = append_bytes(quote, 1, used, out, bytes);
    if (bytes) out[used < bytes ? used : 0] = 0;
    return used;
}

const char *rue_shell_word(const char *path, char out[RUE_SHELL_WORD_BYTES])
{
    size_t skip = path[0] == '-' ? 2 : 0;
    memcpy(out, "./", skip);
    if (rue_shell_quote(path, out + skip, RUE_SHELL_WORD_BYTES - skip) >= RUE_SHELL_WORD_BYTES - skip)
        memcpy(out, "DIR", sizeof "DIR");
    return out;
}

void rue_shell_quote_line(const char *const *words, size_t count, char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < count; i++) {
        size_t from = used + (i > 0), reserved = i + 1 < count ? sizeof ellipsis - 1 : 0;
        size_t space = from + reserved < bytes ? bytes - from - reserved : 0;
        size_t length = space ? rue_shell_quote(words[i], out + from, space) : 0;
        if (length >= space) {
            snprintf(out + used, bytes - used, "%s", ellipsis + (i == 0));
            return;
        }
        if (i > 0) out[used] = ' ';
        used = from + length;
    }
}

/* The end of the word at `at`. */
static const char *skip_word(const char *at)
{
    for (bool quoted = false; *at && (quoted || *at != ' '); at++) {
        if (*at == quote[0]) quoted = !quoted;
        if (*at == '\\' && !quoted && at[1]) at++;
    }
    return at;
}

bool rue_shell_find_option(const char *line, const char *option, char *out, size_t bytes)
{
    size_t length = strlen(option);
    bool follows = false;
    for (const char *at = line, *end; *at; at = end + (*end == ' ')) {
        end = skip_word(at);
        const char *word = at + (*at == quote[0]);
        bool named = strncmp(word, option, length) == 0, joined = named && word[length] == '=';
        if (joined) word += length + 1;
        if (follows || joined)
            return snprintf(out, bytes, "%s%.*s", joined && *at == quote[0] ? quote : "",
                            (int)(end - (joined ? word : at)), joined ? word : at) < (int)bytes;
        follows = named && word + length == end;
    }
    return false;
}
