#include "markup.h"

#include "utf8.h"

void rue_markup_put(FILE *stream, const char *text)
{
    for (const char *at = text;;) {
        const char *from = at;
        int32_t point = rue_utf8_next(&at);
        switch (point) {
        case 0:
            return;
        case '&':
            fputs("&amp;", stream);
            break;
        case '<':
            fputs("&lt;", stream);
            break;
        case '>':
            fputs("&gt;", stream);
            break;
        case '"':
            fputs("&quot;", stream);
            break;
        case '\'':
            fputs("&#39;", stream);
            break;
        default:
            if (point < 0 || rue_utf8_is_unsafe(point))
                fputc('?', stream);
            else
                fwrite(from, 1, (size_t)(at - from), stream);
        }
    }
}
