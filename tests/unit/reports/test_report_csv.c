#include "csv_field.h"
#include "findings_fixture.h"

enum { FIELDS_MAX = 64, FIELD_BYTES = 1024 };

struct record {
    int count;
    char fields[FIELDS_MAX][FIELD_BYTES];
};

/* Reads one record as RFC 4180 says; returns what follows it. Made apart from the writer, to check it. */
static const char *read_record(const char *at, struct record *record)
{
    memset(record, 0, sizeof *record);
    for (;;) {
        char *out = record->fields[record->count++];
        cr_assert_lt(record->count, (int)FIELDS_MAX);
        if (*at == '"') {
            for (at++; *at != '"' || at[1] == '"'; at++) {
                cr_assert_neq(*at, 0, "a quoted field does not end");
                if (*at == '"') at++;
                *out++ = *at;
            }
            at++;
        }
        while (*at && *at != ',' && *at != '\n') *out++ = *at++;
        if (*at++ != ',') return at;
    }
}

static const char *field(const struct record *header, const struct record *record, const char *name)
{
    for (int i = 0; i < header->count; i++)
        if (strcmp(header->fields[i], name) == 0) return record->fields[i];
    cr_assert_fail("no column %s", name);
    return "";
}

static void add_row(struct fixture *fixture, enum rue_outcome outcome, const char *reason)
{
    struct rue_trial_row *row = &fixture->rows[fixture->row_count++];
    row->id = fixture->row_count;
    row->started_ns = UINT64_C(18446744073709551615);
    row->request.config = fixture_config(32, 4);
    row->request.config.value[RUE_PARALLELISM] = RUE_PARALLEL_SAMPLE;
    strcpy(row->request.variant.format, "folder");
    strcpy(row->request.model, "größe, \"µ\"");
    row->request.images = 2048;
    row->request.job_images = 9469;
    row->result = rue_trial_result_empty();
    row->result.outcome = outcome;
    strcpy(row->result.reason, reason);
}

Test(report_csv, every_row_has_the_columns_of_the_header)
{
    static struct record header, record;
    struct fixture fixture;
    fixture_open(&fixture);
    add_row(&fixture, RUE_TRIAL_OK, "");
    fixture.rows[0].result.end_to_end_ns = INT64_C(12345678901);
    fixture.rows[0].result.images = 2048;
    fixture.rows[0].result.cpu_ratio = 3.5;
    fixture.rows[0].disturbed = true;
    add_row(&fixture, RUE_TRIAL_FAILED, "said \"no\",\nthen, died");
    char *text = fixture_render(&rue_report_csv, &fixture, (struct rue_report_style){0});
    const char *at = read_record(text, &header);
    cr_assert_eq((size_t)header.count, 7 + RUE_OWN_KNOB_COUNT + 3 + rue_trial_field_count + 2);

    at = read_record(at, &record);
    cr_assert_eq(record.count, header.count);
    cr_assert_str_eq(field(&header, &record, "disturbed"), "1");
    cr_assert_str_eq(field(&header, &record, "started_ns"), "18446744073709551615");
    cr_assert_str_eq(field(&header, &record, "mode"), "raw");
    cr_assert_str_eq(field(&header, &record, "dtype"), "");
    cr_assert_str_eq(field(&header, &record, "model"), "größe, \"µ\"");
    cr_assert_str_eq(field(&header, &record, "measure"), "joint");
    cr_assert_str_eq(field(&header, &record, "num_workers"), "4");
    cr_assert_str_eq(field(&header, &record, "parallelism"), "sample");
    cr_assert_str_eq(field(&header, &record, "requested_images"), "2048");
    cr_assert_str_eq(field(&header, &record, "status"), "ok");
    cr_assert_str_eq(field(&header, &record, "end_to_end_ns"), "12345678901");
    cr_assert_str_eq(field(&header, &record, "cpu_ratio"), "3.5");

    at = read_record(at, &record);
    cr_assert_eq(record.count, header.count);
    cr_assert_str_eq(field(&header, &record, "status"), "failed");
    cr_assert_str_eq(field(&header, &record, "images"), "", "an absent integer is empty");
    cr_assert_str_eq(field(&header, &record, "cpu_ratio"), "", "an absent real is empty");
    cr_assert_str_eq(field(&header, &record, "reason"), "said \"no\",?then, died", "one line a trial");
    cr_assert_eq(*at, 0);
    free(text);
    fixture_close(&fixture);
}

Test(report_csv, without_trials_there_is_a_header)
{
    static struct record header;
    struct fixture fixture;
    fixture_open(&fixture);
    char *text = fixture_render(&rue_report_csv, &fixture, (struct rue_report_style){0});
    cr_assert_eq(*read_record(text, &header), 0);
    cr_assert_eq((size_t)header.count, 7 + RUE_OWN_KNOB_COUNT + 3 + rue_trial_field_count + 2);
    free(text);
    fixture_close(&fixture);
}

/* What a spreadsheet gets of `text`, the field that another reader of CSV finds. */
static const char *written(const char *text)
{
    static struct record record;
    static char buffer[4 * FIELD_BYTES];
    FILE *stream = fmemopen(buffer, sizeof buffer, "w");
    rue_csv_put_text(stream, text);
    fputc('\n', stream);
    cr_assert_eq(fclose(stream), 0);
    cr_assert_eq(*read_record(buffer, &record), 0);
    cr_assert_eq(record.count, 1);
    return record.fields[0];
}

Test(report_csv, no_text_is_a_formula_and_every_text_is_read_back)
{
    static const char *const formulas[] = {"=1+1",      "=HYPERLINK(\"http://x\",\"a\")",
                                           "+1+1",      "-2+3",
                                           "@SUM(A1)",  "-",
                                           "=",         "-cmd|' /C calc'!A0",
                                           "'=1",       "''@a",
                                           "+0x10",     "-inf",
                                           "\uFF1D1+1", "+nan",
                                           "-1,5"};
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        const char *field = written(formulas[i]);
        cr_assert(field[0] == '\'' && strcmp(field + 1, formulas[i]) == 0, "%s", field);
        cr_assert_str_eq(rue_csv_get_text(field), formulas[i]);
    }
    static const char *const plain[] = {"",    "-5", "+1.5e3",   "-1e-9", "a=b",
                                        "'a'", "'",  "resnet18", " =1",   "größe, \"µ\""};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        cr_assert_str_eq(written(plain[i]), plain[i]);
        cr_assert_str_eq(rue_csv_get_text(plain[i]), plain[i]);
    }
}

Test(report_csv, no_text_contains_control_characters)
{
    cr_assert_str_eq(written("\033[2J\ra\tb\nc\x7F"), "?[2J?a?b?c?");
    cr_assert_str_eq(written("\t=1"), "?=1");
    cr_assert_str_eq(written("\u202Egpj\xFF\xC2\x9B"), "?gpj??");
}

Test(report_csv, no_trials_give_only_a_header)
{
    struct fixture fixture;
    fixture_open(&fixture);
    char *text = fixture_render(&rue_report_csv, &fixture, (struct rue_report_style){0});
    cr_assert_eq(strchr(text, '\n'), text + strlen(text) - 1);
    cr_assert(strncmp(text, "id,started_ns,mode,format,dtype,model,measure,batch_size,num_workers,", 69) ==
              0);
    free(text);
    fixture_close(&fixture);
}
