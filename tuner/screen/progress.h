/* Progress on standard error: one line that is redrawn on a terminal, or a plain line every 5 s elsewhere. */
#ifndef RUE_PROGRESS_H
#define RUE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rue_progress {
    bool terminal; /* a line can be redrawn */
    bool quiet;
    bool unicode;
    uint64_t start_ns, shown_ns;
    const char *counted; /* of the last rue_progress_count, with its start */
    uint64_t count_start_ns, count_first;
    int line_columns; /* of the line that must be erased before other text; 0: no line */
};

struct rue_progress rue_progress_open(bool quiet);

/* Whether the next update is due: every 0.1 s on a terminal, every 5 s elsewhere. */
bool rue_progress_due(struct rue_progress *progress);

/* Shows the first of the texts that fits the terminal's current width; nothing if none does. Where no line
 * is redrawn, the first. */
void rue_progress_show_whole(struct rue_progress *progress, const char *const *texts, size_t count);

/* Shows the text now; the middle of one that is too wide is left out, as suits a path at its end. */
void rue_progress_show(struct rue_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Shows "making photos: 120 of 512, 84/s, 5 s left" when due; call it for each item. `doing` is a static
 * text; a different one restarts the rate. */
void rue_progress_count(struct rue_progress *progress, const char *doing, uint64_t done, uint64_t total);

/* Prints a lasting message, also when quiet: erases the progress line and prints the text, wrapped on a
 * terminal. */
void rue_progress_note(struct rue_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Erases the line. */
void rue_progress_close(struct rue_progress *progress);

#endif
