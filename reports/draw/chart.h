/* Draws charts as SVG. A panel is an <svg> element of its own, so that panels wrap in a narrow window. */
#ifndef RUE_CHART_H
#define RUE_CHART_H

#include "section.h"

/* Writes definitions that charts refer to, once in a document. */
void rue_chart_write_definitions(FILE *stream);

/* Writes the panels into an element of class p and p1 to p4, by how many are open; then the legend. Of many
 * panels most are folded into an element <details>.
 * RUE_MEMORY; other failures show in ferror(stream). */
rue_status rue_chart_write(const struct rue_section *table, const struct rue_chart *chart, FILE *stream,
                           rue_error *error) RUE_MUST_CHECK;

/* The first bytes of a file of its own. */
#define RUE_CHART_FILE_MARK "<!-- rue -->\n<svg "

/* Writes such a file. RUE_MEMORY; RUE_STORE: the stream failed. */
rue_status rue_chart_write_file(const struct rue_section *table, const struct rue_chart *chart, FILE *stream,
                                rue_error *error) RUE_MUST_CHECK;

/* Whether there is anything to draw: a value; of lines, values at two places of x. */
bool rue_chart_is_drawn(const struct rue_section *table, const struct rue_chart *chart);

#endif
