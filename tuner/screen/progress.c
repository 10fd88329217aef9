#include "progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "clock.h"
#include "interrupt.h"
#include "terminal.h"
#include "units.h"
#include "utf8.h"
#include "wrap.h"

enum { TEXT_BYTES = 6144, PLAIN_PERIOD_S = 5, LEAST_COLUMNS = 2, COUNT_BYTES = 160 };

struct rue_progress rue_progress_open(bool quiet)
{
    return (struct rue_progress){.quiet = quiet,
                                 .start_ns = rue_clock_now_ns(),
                                 .terminal = rue_terminal_redraws(stderr),
                                 .unicode = rue_terminal_style(stderr, 0).unicode};
}

bool rue_progress_due(struct rue_progress *progress)
{
    if (progress->quiet) return false;
    uint64_t now = rue_clock_now_ns(),
             pause = progress->terminal ? RUE_NS_PER_S / 10 : PLAIN_PERIOD_S * RUE_NS_PER_S;
    return now - (progress->shown_ns ? progress->shown_ns : progress->start_ns) >= pause;
}

/* COLUMNS in the environment, but not more than the real width. */
static int line_columns(void)
{
    int real = rue_terminal_columns(stderr), limit = rue_terminal_style(stderr, RUE_TEXT_COLUMNS).columns;
    int columns = real > 0 && real < limit ? real : limit;
    return columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns;
}

/* A narrower window has wrapped the line into rows; the cursor is in the last one. */
static void erase_line(struct rue_progress *progress)
{
    if (!progress->line_columns) return;
    int real = rue_terminal_columns(stderr);
    int above = real > 0 ? (progress->line_columns - 1) / real : 0;
    if (above > 0)
        fprintf(stderr, "\r\033[%dA\033[J", above);
    else
        fputs("\r\033[K", stderr);
    progress->line_columns = 0;
    rue_interrupt_set_line(false);
}

static void format_clean(const struct rue_progress *progress, char out[TEXT_BYTES], const char *format,
                         va_list arguments)
{
    char text[TEXT_BYTES];
    vsnprintf(text, sizeof text, format, arguments);
    rue_utf8_clean(text, progress->unicode, out, TEXT_BYTES);
}

static void replace_line(struct rue_progress *progress, const char *text)
{
    erase_line(progress);
    fputs(text, stderr);
    fflush(stderr);
    progress->line_columns = rue_utf8_width(text);
    rue_interrupt_set_line(true);
}

void rue_progress_show(struct rue_progress *progress, const char *format, ...)
{
    if (progress->quiet) return;
    char text[TEXT_BYTES], cut[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    format_clean(progress, text, format, arguments);
    va_end(arguments);
    progress->shown_ns = rue_clock_now_ns();
    if (!progress->terminal) {
        fprintf(stderr, "%s\n", text);
        return;
    }
    rue_utf8_shorten(text, line_columns() - 1, progress->unicode, cut, sizeof cut);
    replace_line(progress, cut);
}

void rue_progress_show_whole(struct rue_progress *progress, const char *const *texts, size_t count)
{
    if (progress->quiet) return;
    char text[TEXT_BYTES] = "";
    bool fits = false;
    for (size_t i = 0; i < count && !fits; i++) {
        rue_utf8_clean(texts[i], progress->unicode, text, sizeof text);
        fits = !progress->terminal || rue_utf8_width(text) < line_columns();
    }
    progress->shown_ns = rue_clock_now_ns();
    if (!progress->terminal)
        fprintf(stderr, "%s\n", text);
    else if (fits)
        replace_line(progress, text);
    else
        erase_line(progress);
}

void rue_progress_count(struct rue_progress *progress, const char *doing, uint64_t done, uint64_t total)
{
    if (progress->counted != doing) {
        progress->counted = doing;
        progress->count_start_ns = rue_clock_now_ns();
        progress->count_first = done;
    }
    if (!rue_progress_due(progress) || done == progress->count_first) return;
    char left[RUE_UNIT_TEXT_BYTES], texts[3][COUNT_BYTES];
    double elapsed = (double)(rue_clock_now_ns() - progress->count_start_ns) / 1e9;
    double rate = (double)(done - progress->count_first) / elapsed;
    rue_format_duration((uint64_t)((double)(total - done) / rate * 1e9), left, sizeof left);
    snprintf(texts[0], COUNT_BYTES, "%s: %" PRIu64 " of %" PRIu64 ", %.0f/s, %s left", doing, done, total,
             rate, left);
    snprintf(texts[1], COUNT_BYTES, "%" PRIu64 " of %" PRIu64 ", %s left", done, total, left);
    snprintf(texts[2], COUNT_BYTES, "%s left", left);
    rue_progress_show_whole(progress, (const char *const[]){texts[0], texts[1], texts[2]}, 3);
}

void rue_progress_note(struct rue_progress *progress, const char *format, ...)
{
    char text[TEXT_BYTES];
    erase_line(progress);
    va_list arguments;
    va_start(arguments, format);
    format_clean(progress, text, format, arguments);
    va_end(arguments);
    rue_wrap(stderr, text, rue_terminal_columns(stderr) ? line_columns() : 0, 0);
    fputc('\n', stderr);
}

void rue_progress_close(struct rue_progress *progress)
{
    erase_line(progress);
    fflush(stderr);
}
