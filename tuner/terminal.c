#include "terminal.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS_MAX = 10000 };

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

struct rue_report_style rue_terminal_style(FILE *stream, int otherwise)
{
    struct rue_report_style style = {.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0};
    const char *no_color = getenv("NO_COLOR"), *columns = getenv("COLUMNS");
    style.color = rue_terminal_redraws(stream) && !(no_color && *no_color);
    long asked = columns ? strtol(columns, NULL, 10) : 0;
    style.columns = asked > 0 && asked < COLUMNS_MAX ? (int)asked : rue_terminal_columns(stream);
    if (!style.columns) style.columns = otherwise;
    return style;
}
