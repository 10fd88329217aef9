#include "terminal.h"

#include <langinfo.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "page_writers.h"
#include "utf8.h"
#include "wrap.h"

enum { COLUMNS_MAX = 10000, TEXT_BYTES = 8192 };

int rue_terminal_columns(FILE *stream)
{
    struct winsize size;
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool rue_terminal_redraws(FILE *stream)
{
    const char *term = getenv("TERM");
    return isatty(fileno(stream)) && term && *term && strcmp(term, "dumb") != 0;
}

struct rue_report_style rue_terminal_style(FILE *stream, int fallback)
{
    struct rue_report_style style = {.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0};
    const char *no_color = getenv("NO_COLOR"), *columns = getenv("COLUMNS");
    style.color = rue_terminal_redraws(stream) && !(no_color && *no_color);
    const char *term = getenv("TERM"), *depth = getenv("COLORTERM");
    bool full = depth && (strcmp(depth, "truecolor") == 0 || strcmp(depth, "24bit") == 0);
    if (style.color) style.color_bits = full ? 24 : strstr(term, "256color") ? 8 : 0;
    long requested = columns ? strtol(columns, NULL, 10) : 0;
    style.columns = requested > 0 && requested < COLUMNS_MAX ? (int)requested : rue_terminal_columns(stream);
    if (!style.columns) style.columns = fallback;
    return style;
}

rue_status rue_terminal_show(struct rue_page *page, int fallback, rue_error *error)
{
    const struct rue_report_style style = rue_terminal_style(stdout, fallback);
    rue_status status = rue_page_write(page, &style, stdout, error);
    rue_page_close(page);
    return status;
}

void rue_terminal_print(FILE *stream, const char *format, ...)
{
    char text[TEXT_BYTES], clean[TEXT_BYTES];
    const struct rue_report_style style = rue_terminal_style(stream, 0);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rue_utf8_clean(text, style.unicode, clean, sizeof clean);
    rue_wrap(stream, clean, style.columns, 0);
    fputc('\n', stream);
}
