/* Heat maps in a terminal. */
#ifndef RUE_SECTION_HEAT_H
#define RUE_SECTION_HEAT_H

#include "section.h"

/* Writes the first chart of the table, a heat map, in lines of at most style->columns. `stream` NULL: nothing
 * is written. `*shown` is false if the map is too small to be of use, or does not fit. RUE_MEMORY. */
rue_status rue_heat_write(const struct rue_section *table, const struct rue_report_style *style, FILE *stream,
                          bool *shown, rue_error *error) RUE_MUST_CHECK;

#endif
