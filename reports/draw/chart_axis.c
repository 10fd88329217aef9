#include "chart_axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "units.h"

static const double least_log = 0.5;

static double scaled(const struct rue_axis *axis, double value)
{
    return axis->logarithmic ? log2(fmax(value, axis->unit == RUE_UNIT_COUNT ? least_log : 1e-300)) : value;
}

void rue_axis_include(struct rue_axis *axis, double value)
{
    if (!isfinite(value) || (axis->logarithmic && axis->unit != RUE_UNIT_COUNT && value <= 0)) return;
    axis->low = axis->known ? fmin(axis->low, value) : value;
    axis->high = axis->known ? fmax(axis->high, value) : value;
    axis->known = true;
}

double rue_axis_px(const struct rue_axis *axis, double value)
{
    double low = scaled(axis, axis->low), high = scaled(axis, axis->high);
    double share = high > low ? (scaled(axis, value) - low) / (high - low) : 0.5;
    return axis->from + share * (axis->to - axis->from);
}

/* The unit of labels, by the largest value. */
static void choose_unit(struct rue_axis *axis)
{
    static const struct {
        enum rue_unit unit;
        double from, divisor;
        const char *suffix;
    } units[] = {{RUE_UNIT_DURATION, 7200e9, 3600e9, "h"}, {RUE_UNIT_DURATION, 180e9, 60e9, "min"},
                 {RUE_UNIT_DURATION, 1e9, 1e9, "s"},       {RUE_UNIT_DURATION, 1e6, 1e6, "ms"},
                 {RUE_UNIT_DURATION, 0, 1e3, "us"},        {RUE_UNIT_BYTES, 1e9, 1e9, "GB"},
                 {RUE_UNIT_BYTES, 1e6, 1e6, "MB"},         {RUE_UNIT_BYTES, 0, 1e3, "KB"},
                 {RUE_UNIT_PERCENT, -INFINITY, 0.01, "%"}, {RUE_UNIT_TIMES, -INFINITY, 1, "x"}};
    axis->divisor = 1;
    axis->suffix = "";
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (units[i].unit != axis->unit || !(axis->high >= units[i].from)) continue;
        axis->divisor = units[i].divisor;
        axis->suffix = units[i].suffix;
        return;
    }
}

static double round_step(double step)
{
    double unit = pow(10, floor(log10(step))), factor = step / unit;
    return unit * (factor <= 1.001 ? 1 : factor <= 2.001 ? 2 : factor <= 5.001 ? 5 : 10);
}

static void add_tick(struct rue_axis *axis, double value)
{
    if (axis->tick_count < RUE_AXIS_TICKS_MAX) axis->ticks[axis->tick_count++] = value;
}

static void place_linear(struct rue_axis *axis)
{
    const double intervals = 5;
    if (axis->from_zero) axis->low = fmin(axis->low, 0), axis->high = fmax(axis->high, 0);
    if (axis->high <= axis->low)
        axis->high = axis->low + fmax(fabs(axis->low) / 10, axis->unit == RUE_UNIT_PERCENT ? 0.01 : 1);
    choose_unit(axis);
    double step = round_step((axis->high - axis->low) / axis->divisor / intervals) * axis->divisor;
    if (axis->unit == RUE_UNIT_COUNT) step = fmax(step, 1);
    axis->low = floor(axis->low / step + 1e-9) * step;
    axis->high = ceil(axis->high / step - 1e-9) * step;
    axis->digits = (int)fmin(fmax(0, ceil(-log10(step / axis->divisor) - 1e-9)), 6);
    for (int i = 0; axis->low + i * step <= axis->high + step / 2; i++) add_tick(axis, axis->low + i * step);
}

/* Ticks at 1, 2 and 5 times powers of ten, at more places if the axis is short, or at powers of two for
 * counts. */
static void place_logarithmic(struct rue_axis *axis)
{
    static const double parts[] = {1, 2, 5, 1.5, 3, 7};
    choose_unit(axis);
    bool counts = axis->unit == RUE_UNIT_COUNT;
    if (!counts && axis->high < axis->low * 2) axis->low /= 1.5, axis->high *= 1.5;
    bool wide = !counts && axis->high / axis->low > 1e3, narrow = !counts && axis->high / axis->low < 8;
    if (counts && axis->low < least_log) add_tick(axis, 0);
    for (int e = 0; counts && e < 32; e++)
        if (ldexp(1, e) >= axis->low * 0.999 && ldexp(1, e) <= axis->high * 1.001)
            add_tick(axis, ldexp(1, e));
    for (int e = -12; !counts && e < 15; e++)
        for (int p = 0; p < (wide ? 1 : narrow ? 6 : 3); p++) {
            double tick = parts[p] * pow(10, e) * axis->divisor;
            if (tick >= axis->low * 0.999 && tick <= axis->high * 1.001) add_tick(axis, tick);
        }
}

void rue_axis_place(struct rue_axis *axis, double from, double to)
{
    axis->from = from;
    axis->to = to;
    axis->tick_count = 0;
    if (axis->logarithmic)
        place_logarithmic(axis);
    else
        place_linear(axis);
}

const char *rue_axis_tick_text(const struct rue_axis *axis, double value, char out[RUE_AXIS_TEXT_BYTES])
{
    double number = value / axis->divisor;
    if (axis->unit == RUE_UNIT_SCALED || (axis->unit == RUE_UNIT_COUNT && number >= 1e5))
        return rue_format_scaled((uint64_t)fmax(number, 0), out, RUE_AXIS_TEXT_BYTES);
    const double large = 1e6;
    if (axis->logarithmic || fabs(number) >= large)
        snprintf(out, RUE_AXIS_TEXT_BYTES, "%.6g", number);
    else
        snprintf(out, RUE_AXIS_TEXT_BYTES, "%.*f", axis->digits, number);
    return out;
}
