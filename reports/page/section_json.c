/* Tables as arrays of objects. */
#include <math.h>
#include <stdlib.h>

#include "json_document.h"
#include "section.h"
#include "utf8.h"

static json_t *value_json(const struct rue_table_column *column, const struct rue_value *value)
{
    if (value->config) return rue_json_config(value->config, false);
    if (value->text) return rue_json_text_or_null(value->text);
    if (!rue_column_is_number(column) || !isfinite(value->number)) return json_null();
    if (column->unit == RUE_UNIT_FLAG) return json_boolean(value->number != 0);
    bool is_integer = column->unit == RUE_UNIT_COUNT || column->unit == RUE_UNIT_DURATION ||
                      column->unit == RUE_UNIT_BYTES || column->unit == RUE_UNIT_SCALED;
    return is_integer ? rue_json_nanoseconds(value->number) : rue_json_real(value->number);
}

json_t *rue_page_json_text(struct rue_page *page)
{
    char *plain = page->failed || !page->count ? NULL : rue_utf8_cleaned(page->sections[0].text, true, false);
    json_t *value = plain ? rue_json_text_or_null(plain) : NULL;
    free(plain);
    rue_page_close(page);
    return value;
}

static void put_member(json_t **object, const struct rue_table_column *column, json_t *value)
{
    json_t *list = column->listed ? json_object_get(*object, column->key) : NULL;
    if (!column->listed)
        rue_json_put(object, column->key, value);
    else if (!list)
        rue_json_put(object, column->key, json_pack("[o]", value));
    else if (json_array_append_new(list, value) != 0)
        rue_json_put(object, column->key, NULL);
}

json_t *rue_page_json_table(struct rue_page *page)
{
    const struct rue_section *table = rue_page_last_table(page);
    json_t *array = table ? json_array() : NULL;
    for (size_t r = 0; array && r < table->row_count; r++) {
        json_t *object = json_object();
        for (size_t c = 0; c < table->column_count; c++) {
            const struct rue_table_column *column = &table->columns[c];
            if (column->key) put_member(&object, column, value_json(column, &table->rows[r].values[c]));
        }
        rue_json_push(&array, object);
    }
    rue_page_close(page);
    return array;
}
