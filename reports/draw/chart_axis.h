/* Scales of charts: from values to pixels, with ticks at round values. */
#ifndef RUE_CHART_AXIS_H
#define RUE_CHART_AXIS_H

#include "section.h"

enum { RUE_AXIS_TICKS_MAX = 24, RUE_AXIS_TEXT_BYTES = 40 };

/* To make one: set `unit`, `logarithmic` and `from_zero`, include the values, then place it. */
struct rue_axis {
    enum rue_unit unit;
    bool logarithmic; /* values below 0.5 are drawn at 0.5 */
    bool from_zero;
    bool known; /* some value is included */
    double low, high;
    double from, to;    /* pixels */
    double divisor;     /* of labels */
    const char *suffix; /* unit of labels; "": none */
    int digits;
    size_t tick_count;
    double ticks[RUE_AXIS_TICKS_MAX];
};

/* Extends the axis to `value`. Ignores values that are not finite, and on a logarithmic axis also those below
 * or at 0 unless they are counts. */
void rue_axis_include(struct rue_axis *axis, double value);

/* Sets the pixels of both ends, rounds the ends outwards, and chooses ticks and the unit of labels. */
void rue_axis_place(struct rue_axis *axis, double from, double to);

double rue_axis_px(const struct rue_axis *axis, double value);

/* "0.5", "16", without the unit. Returns `out`. */
const char *rue_axis_tick_text(const struct rue_axis *axis, double value, char out[RUE_AXIS_TEXT_BYTES]);

#endif
