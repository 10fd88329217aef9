/* Values of tables for people. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "section.h"
#include "units.h"
#include "utf8.h"

enum { BAR_COLUMNS = 20 };

static char *number_text(const struct rue_table_column *column, const struct rue_value *value, bool unicode)
{
    char text[RUE_UNIT_TEXT_BYTES] = RUE_VALUE_NONE, bar[3 * BAR_COLUMNS + 1] = "",
         mark[2] = {value->mark, 0}, *out;
    double number = value->number, rounded = fmin(fmax(number, 0) + 0.5, 1e18);
    bool known = isfinite(number);
    if (known && column->unit == RUE_UNIT_NUMBER)
        snprintf(text, sizeof text, "%.*f", column->digits, number);
    else if (known && column->unit == RUE_UNIT_COUNT)
        rue_format_count((uint64_t)rounded, text, sizeof text);
    else if (known && column->unit == RUE_UNIT_PERCENT)
        snprintf(text, sizeof text, "%.1f %%", fabs(number) < 0.0005 ? 0 : 100 * number);
    else if (known && column->unit == RUE_UNIT_TIMES)
        snprintf(text, sizeof text, "%.2f x", number);
    else if (known && column->unit == RUE_UNIT_DURATION)
        rue_format_duration((uint64_t)rounded, text, sizeof text);
    else if (known && column->unit == RUE_UNIT_BYTES)
        rue_format_bytes((uint64_t)rounded, text, sizeof text);
    else if (known && column->unit == RUE_UNIT_SCALED)
        rue_format_scaled((uint64_t)rounded, text, sizeof text);
    for (double i = 0.5; known && column->unit == RUE_UNIT_BAR && i <= fmin(number, 1) * BAR_COLUMNS; i++)
        strcat(bar, unicode ? "█" : "#");
    bool is_bar = column->unit == RUE_UNIT_BAR;
    return asprintf(&out, "%s%s", known && !is_bar ? mark : "", is_bar ? bar : text) < 0 ? NULL : out;
}

char *rue_value_text(const struct rue_table_column *column, const struct rue_value *value, bool unicode)
{
    char label[RUE_CONFIG_TEXT_BYTES] = "";
    if (rue_column_is_number(column)) return number_text(column, value, unicode);
    if (value->config) rue_config_label(value->config, label);
    return rue_utf8_cleaned(value->text ? value->text : label, unicode, false);
}

bool rue_column_is_right(const struct rue_table_column *column)
{
    return column->right || (rue_column_is_number(column) && column->unit != RUE_UNIT_BAR);
}

bool rue_column_is_shown(const struct rue_section *table, size_t column)
{
    for (size_t r = 0; table->columns[column].header && r < table->row_count; r++) {
        const struct rue_value *value = &table->rows[r].values[column];
        if (rue_column_is_number(&table->columns[column]) ? isfinite(value->number)
                                                          : value->config || (value->text && value->text[0]))
            return true;
    }
    return false;
}
