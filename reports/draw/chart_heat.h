/* What heat maps share on pages and in terminals: colours, and texts of cells. */
#ifndef RUE_CHART_HEAT_H
#define RUE_CHART_HEAT_H

#include "chart_drawing.h"

struct rue_heat_color {
    double r, g, b; /* 0 to 255 */
};

/* The place of a value on the scale, 0 to 1. The scale is finer for small values. If it diverges, 0 is in its
 * middle: the chart is of changes, or has negative values. */
double rue_heat_share(const struct rue_drawing *drawing, double value);
bool rue_heat_diverges(const struct rue_drawing *drawing);

/* From dark to light; on a scale that diverges, blue is below and orange above zero. */
struct rue_heat_color rue_heat_color(const struct rue_drawing *drawing, double value);

/* Whether light text is readable on it. */
bool rue_heat_is_dark(struct rue_heat_color color);

/* "3.2", without its unit, short enough for a cell. */
void rue_heat_text(const struct rue_drawing *drawing, double value, char out[RUE_AXIS_TEXT_BYTES]);

#endif
