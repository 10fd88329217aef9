/* Progress on standard error: one line that is redrawn on a terminal, now and then a plain line elsewhere. */
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
    const char *counted; /* what rue_progress_count was last about, since when and from where on */
    uint64_t count_start_ns, count_first;
    int line_columns; /* of the line on the screen that must be wiped before other text; 0: there is none */
};

struct rue_progress rue_progress_open(bool quiet);

/* Whether it is time for the next update: 10 a second on a terminal, one every 5 s elsewhere. */
bool rue_progress_due(struct rue_progress *progress);

/* Shows the text now, cut to the terminal's width, which may change at any time. */
void rue_progress_show(struct rue_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "made 120 of 512 photos, 84/s, 5 s left", when due; to be called for each. `doing` lives for ever: with
 * another one the rate begins anew, and what was done before does not count. */
void rue_progress_count(struct rue_progress *progress, const char *doing, uint64_t done, uint64_t total);

/* A message that stays: wipes the progress line, prints the text, wrapped on a terminal, and a newline.
 * Printed even when quiet. */
void rue_progress_note(struct rue_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Wipes the line. */
void rue_progress_close(struct rue_progress *progress);

#endif
