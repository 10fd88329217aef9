#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"

static rue_status open_text(const char *text, size_t bytes, struct rue_csv **out, rue_error *error)
{
    char *copy = malloc(bytes + 1);
    cr_assert(copy);
    memcpy(copy, text, bytes);
    copy[bytes] = 0;
    return rue_csv_open("t.csv", copy, bytes, out, error);
}

/* All records as "line:field|field;" */
static void read_all(const char *text, size_t bytes, char *out, size_t size)
{
    struct rue_csv *csv;
    rue_error error = {0};
    out[0] = 0;
    rue_status status = open_text(text, bytes, &csv, &error);
    for (bool found = true; status == RUE_OK && found;) {
        struct rue_csv_record record;
        status = rue_csv_next(csv, &found, &record, &error);
        if (status != RUE_OK || !found) break;
        size_t used = strlen(out);
        used += (size_t)snprintf(out + used, size - used, "%d:", (int)record.line);
        for (size_t f = 0; f < record.count; f++)
            used += (size_t)snprintf(out + used, size - used, "%s%s", f ? "|" : "", record.fields[f]);
        snprintf(out + used, size - used, ";");
    }
    if (status != RUE_OK) snprintf(out, size, "%d %s", (int)status, error.message);
    rue_csv_close(csv);
}

static void expect(const char *text, const char *wanted)
{
    char got[4096];
    read_all(text, strlen(text), got, sizeof got);
    cr_assert_str_eq(got, wanted, "'%s' gives '%s'", text, got);
}

static void expect_error(const char *text, size_t bytes, const char *words)
{
    char got[4096], code[16];
    read_all(text, bytes, got, sizeof got);
    snprintf(code, sizeof code, "%d ", RUE_DATA);
    cr_assert(strncmp(got, code, strlen(code)) == 0 && strstr(got, words), "'%s' lacks '%s'", got, words);
}

Test(csv, reads_every_kind_of_line_end)
{
    expect("a,b\n1,2\n", "1:a|b;2:1|2;");
    expect("a,b\r\n1,2\r\n", "1:a|b;2:1|2;");
    expect("a,b\r1,2\r", "1:a|b;2:1|2;");
    expect("a,b\n1,2", "1:a|b;2:1|2;");
    expect("a\r\n\r\n\n b \n \t \n,,\nc", "1:a;4:b;7:c;");
}

Test(csv, skips_a_byte_order_mark_and_empty_text_has_no_record)
{
    expect("\xEF\xBB\xBF"
           "a,b\n",
           "1:a|b;");
    expect("", "");
    expect("\n\r\n \n", "");
    expect("\xEF\xBB\xBF", "");
}

Test(csv, quoted_fields_may_contain_commas_quotes_and_line_ends)
{
    expect("\"a,b\",\"c\"\"d\"\n", "1:a,b|c\"d;");
    expect("\"a\nb\",c\nd,e\n", "1:a\nb|c;3:d|e;");
    expect("\"a\r\nb\"\nc", "1:a\r\nb;3:c;");
    expect("\"\",\"\"\"\"", "1:|\";");
    expect("  \" a \" , b \t,c\"d\n", "1: a |b|c\"d;");
    expect("\"a\"", "1:a;");
    expect("\"a\",", "1:a|;");
}

Test(csv, empty_fields_are_kept)
{
    expect("a,,b,\n,x\n", "1:a||b|;2:|x;");
}

Test(csv, names_the_line_of_quotes_that_do_not_match)
{
    expect_error("a\nb,\"c\nd\n", 9, "line 2: the quote that opens here has no end");
    expect_error("a\n\"b\"c,d\n", 9, "line 2: text after a closing quote");
}

Test(csv, refuses_files_that_are_not_text)
{
    expect_error("a\nb\0c\n", 6, "line 2: a NUL byte");
    expect_error("\xFF\xFE"
                 "a\0",
                 4, "UTF-16");
    expect("\xC3\xA9,\xE2\x86\x92\n", "1:\xC3\xA9|\xE2\x86\x92;");
}

Test(csv, reads_lines_and_rows_of_any_length)
{
    enum { BYTES = 1 << 20, FIELDS = 5000 };
    static char text[BYTES + 2 * FIELDS + 8];
    struct rue_csv *csv;
    struct rue_csv_record record;
    bool found;
    memset(text, 'x', BYTES);
    for (int f = 0; f < FIELDS; f++) memcpy(text + BYTES + 2 * f, ",y", 2);
    cr_assert_eq(open_text(text, BYTES + 2 * FIELDS, &csv, NULL), RUE_OK);
    cr_assert_eq(rue_csv_next(csv, &found, &record, NULL), RUE_OK);
    cr_assert(found && record.count == FIELDS + 1 && strlen(record.fields[0]) == BYTES);
    cr_assert_str_eq(record.fields[FIELDS], "y");
    rue_csv_close(csv);
}

Test(csv, every_prefix_of_a_table_ends)
{
    static const char text[] = "\xEF\xBB\xBF"
                               "a,\"b\"\"\r\n\",c\r\n1, \"2\" ,\xC3\xA9\n\n\"x";
    char got[4096];
    for (size_t n = 0; n < sizeof text; n++) {
        read_all(text, n, got, sizeof got);
        cr_assert(got[0] == 0 || got[strlen(got) - 1] == ';' || got[0] == '0' + RUE_DATA, "%zu: %s", n, got);
    }
}
