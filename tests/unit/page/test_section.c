#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "section.h"

static rue_error error;

/* A row of all kinds of values. `wide`: with an optional column. */
static void put_row(struct rue_page *page, const char *name, double number, bool wide)
{
    static const struct rue_config config = {.value = {[RUE_BATCH_SIZE] = 32}};
    char header[32];
    snprintf(header, sizeof header, "number of %s", name);
    const struct rue_table_column row[] = {
        {"name", "name", .text = name},
        {"config", .config = &config},
        {"optional", "optional", RUE_UNIT_COUNT, .number = 7, .absent = !wide},
        {"number", header, RUE_UNIT_NUMBER, .number = number},
        {NULL, "for people", .text = "shown"},
        {"yes", NULL, RUE_UNIT_FLAG, .number = number > 1},
    };
    rue_page_row(page, false, row, sizeof row / sizeof *row);
}

static char *csv_of(const struct rue_page *page, bool header)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    rue_status status = rue_page_write_csv(page, header, stream, &error);
    fclose(stream);
    cr_assert_eq(status, RUE_OK, "%s", error.message);
    return text;
}

static void check_csv(const struct rue_page *page, bool header, const char *expected)
{
    char *text = csv_of(page, header);
    cr_assert_str_eq(text, expected);
    free(text);
}

Test(table, values_are_written_under_the_keys_of_their_columns)
{
    struct rue_page page = {0};
    rue_page_table(&page);
    put_row(&page, "a", 1.5, true);
    put_row(&page, "b", NAN, true);
    check_csv(&page, true, "name,config,optional,number,yes\na,,7,1.5,1\nb,,7,,0\n");
    json_t *array = rue_page_json_table(&page), *first = json_array_get(array, 0);
    cr_assert_eq(json_array_size(array), 2);
    cr_assert_str_eq(json_string_value(json_object_get(first, "name")), "a");
    cr_assert(json_is_object(json_object_get(first, "config")));
    cr_assert_eq(json_integer_value(json_object_get(first, "optional")), 7);
    cr_assert(json_is_true(json_object_get(first, "yes")));
    cr_assert(json_is_null(json_object_get(json_array_get(array, 1), "number")));
    cr_assert_eq(json_object_size(first), 5, "a column without a key is only for people");
    json_decref(array);
}

Test(table, an_absent_column_is_not_in_the_table)
{
    struct rue_page page = {0};
    rue_page_table(&page);
    put_row(&page, "a", 1.5, false);
    check_csv(&page, true, "name,config,number,yes\na,,1.5,1\n");
    cr_assert_eq(rue_page_last_table(&page)->column_count, 5);
    rue_page_close(&page);
}

Test(table, headers_of_the_first_row_stay)
{
    struct rue_page page = {0};
    rue_page_table(&page);
    put_row(&page, "a", 1, false);
    put_row(&page, "b", 2, false);
    const struct rue_section *table = rue_page_last_table(&page);
    cr_assert_str_eq(rue_column_find(table, "number")->header, "number of a");
    cr_assert_null(rue_column_find(table, NULL));
    rue_page_close(&page);
}

Test(table, columns_stay_without_rows)
{
    struct rue_page page = {0};
    rue_page_table(&page);
    put_row(&page, "", 0, true);
    rue_page_clear_rows(&page);
    check_csv(&page, true, "name,config,optional,number,yes\n");
    put_row(&page, "c", 3, true);
    check_csv(&page, false, "c,,7,3,1\n");
    rue_page_close(&page);
}

Test(table, a_row_is_made_in_pieces)
{
    struct rue_page page = {0};
    rue_page_table(&page);
    for (int r = 0; r < 3; r++) {
        const struct rue_table_column first = {"r", NULL, RUE_UNIT_COUNT, .number = r};
        rue_page_row(&page, false, &first, 1);
        for (int c = 0; c < 2; c++) {
            const struct rue_table_column more = {c ? "even" : "odd", NULL, RUE_UNIT_COUNT,
                                                  .number = 2 * r + !c};
            rue_page_put(&page, &more, 1);
        }
    }
    check_csv(&page, true, "r,odd,even\n0,1,0\n1,3,2\n2,5,4\n");
    rue_page_close(&page);
}

Test(table, a_chart_without_rows_is_left_out)
{
    struct rue_page page = {0};
    rue_page_table(&page);
    rue_page_chart(&page, &(struct rue_chart){.name = "none", .title = "", .x = "unknown"});
    cr_assert_eq(rue_page_last_table(&page)->chart_count, 0);
    rue_page_close(&page);
}

/* ---- mistakes in code ---- */

/* A table of a row. */
static struct rue_page open_table(void)
{
    struct rue_page page = {0};
    rue_page_table(&page);
    put_row(&page, "a", 1, false);
    return page;
}

Test(table, a_key_that_no_column_has_is_a_bug, .signal = SIGABRT)
{
    struct rue_page page = open_table();
    rue_page_chart(&page, &(struct rue_chart){.name = "bad", .title = "", .x = "number", .value = "numbers"});
}

Test(table, a_row_with_another_column_is_a_bug, .signal = SIGABRT)
{
    struct rue_page page = open_table();
    put_row(&page, "b", 2, true);
}

Test(table, a_row_with_too_few_columns_is_a_bug, .signal = SIGABRT)
{
    struct rue_page page = open_table();
    rue_page_row(&page, false, &(struct rue_table_column){"name", "name", .text = "b"}, 1);
    put_row(&page, "c", 2, false);
}

Test(table, an_unfinished_last_row_is_a_bug, .signal = SIGABRT)
{
    struct rue_page page = open_table();
    rue_page_row(&page, false, &(struct rue_table_column){"name", "name", .text = "b"}, 1);
    rue_page_close(&page);
}

Test(table, a_number_in_a_column_of_texts_is_a_bug, .signal = SIGABRT)
{
    struct rue_page page = {0};
    rue_page_table(&page);
    rue_page_row(&page, false, &(struct rue_table_column){"name", "name", .number = 1}, 1);
}
