#include "progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"
#include "units.h"

static int terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10 ? size.ws_col : 80;
}

struct rue_progress rue_progress_open(bool quiet)
{
    const char *term = getenv("TERM");
    struct rue_progress progress = {.quiet = quiet, .start_ns = rue_clock_now_ns()};
    progress.terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    progress.columns = progress.terminal ? terminal_columns() : 0;
    return progress;
}

bool rue_progress_due(struct rue_progress *progress)
{
    if (progress->quiet) return false;
    uint64_t now = rue_clock_now_ns(), pause = progress->terminal ? RUE_NS_PER_S / 10 : 5 * RUE_NS_PER_S;
    return now - (progress->shown_ns ? progress->shown_ns : progress->start_ns) >= pause;
}

static void wipe(struct rue_progress *progress)
{
    if (progress->line_open) fputs("\r\033[K", stderr);
    progress->line_open = false;
}

/* Bytes of `text` that fill at most `columns` on the screen: no UTF-8 sequence is cut. */
static int fit(const char *text, int columns)
{
    int bytes = 0;
    for (; text[bytes]; bytes++)
        if ((text[bytes] & 0xC0) != 0x80 && columns-- == 0) break;
    return bytes;
}

void rue_progress_show(struct rue_progress *progress, const char *format, ...)
{
    if (progress->quiet) return;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    progress->shown_ns = rue_clock_now_ns();
    if (!progress->terminal) {
        fprintf(stderr, "%s\n", text);
        return;
    }
    progress->columns = terminal_columns();
    wipe(progress);
    fprintf(stderr, "%.*s", fit(text, progress->columns - 1), text);
    fflush(stderr);
    progress->line_open = true;
}

void rue_progress_count(struct rue_progress *progress, const char *doing, uint64_t done, uint64_t of)
{
    if (!rue_progress_due(progress) || done == 0) return;
    char left[RUE_UNIT_TEXT_BYTES];
    double elapsed = (double)(rue_clock_now_ns() - progress->start_ns) / 1e9, rate = (double)done / elapsed;
    rue_format_duration((uint64_t)((double)(of - done) / rate * 1e9), left, sizeof left);
    rue_progress_show(progress, "%s: %" PRIu64 " of %" PRIu64 ", %.0f/s, %s left", doing, done, of, rate,
                      left);
}

void rue_progress_note(struct rue_progress *progress, const char *format, ...)
{
    wipe(progress);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void rue_progress_close(struct rue_progress *progress)
{
    wipe(progress);
    fflush(stderr);
}
