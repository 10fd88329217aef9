#include "wrap.h"

#include <stdbool.h>
#include <string.h>

#include "utf8.h"

/* Narrower text is hard to read, so it begins below its label. */
enum { NARROW_TEXT = 28, NARROW_INDENT = 6 };

static void put_word(FILE *stream, const char *word, const char *end)
{
    const size_t length = strlen(RUE_NO_BREAK);
    while (word < end) {
        bool space = (size_t)(end - word) >= length && memcmp(word, RUE_NO_BREAK, length) == 0;
        fputc(space ? ' ' : *word, stream);
        word += space ? length : 1;
    }
}

/* Returns the end of the word and sets its width. Cuts a word that is wider than `room`. */
static const char *word_end(const char *word, int room, int *width)
{
    *width = 0;
    while (*word && *word != ' ') {
        const char *next = word;
        rue_utf8_next(&next);
        char character[8] = "";
        memcpy(character, word, (size_t)(next - word));
        int character_width = rue_utf8_width(character);
        if (room > 0 && *width + character_width > room && *width > 0) break;
        *width += character_width;
        word = next;
    }
    return word;
}

/* The cursor is at `indent`. */
static void wrap_at_cursor(FILE *stream, const char *text, int columns, int indent)
{
    int room = columns > indent ? columns - indent : 0, used = 0;
    bool continued = false; /* the text continues a long word */
    while (*(text += strspn(text, " "))) {
        int width;
        const char *end = word_end(text, room, &width);
        int space = used > 0 && !continued;
        if (used > 0 && room > 0 && used + space + width > room) {
            fprintf(stream, "\n%*s", indent, "");
            used = space = 0;
        }
        if (space) fputc(' ', stream);
        put_word(stream, text, end);
        used += space + width;
        continued = *end && *end != ' ';
        text = end;
    }
}

void rue_wrap(FILE *stream, const char *text, int columns, int indent)
{
    fprintf(stream, "%*s", indent, "");
    wrap_at_cursor(stream, text, columns, indent);
}

void rue_wrap_item(FILE *stream, const char *label, const char *text, int columns, int indent)
{
    int width = rue_utf8_width(label);
    bool narrow = columns > 0 && columns < indent + NARROW_TEXT;
    if (narrow) indent = NARROW_INDENT;
    if (narrow || width >= indent)
        fprintf(stream, "%s\n%*s", label, indent, "");
    else
        fprintf(stream, "%s%*s", label, indent - width, "");
    wrap_at_cursor(stream, text, columns, indent);
}
