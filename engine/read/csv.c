#include "csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

struct rue_csv {
    char *name;
    char *text; /* [bytes], then a NUL; fields are ended by NULs in place */
    size_t bytes;
    char *at;
    uint64_t line; /* of `at` */
    size_t field_capacity;
    char **fields;
};

uint64_t rue_csv_line(const char *text, const char *at)
{
    uint64_t line = 1;
    for (; text < at; text++) line += *text == '\n' || (*text == '\r' && text[1] != '\n');
    return line;
}

static rue_status check_text(const struct rue_csv *csv, rue_error *error)
{
    const unsigned char *first = (const unsigned char *)csv->text;
    bool wide =
        csv->bytes >= 2 && ((first[0] == 0xFF && first[1] == 0xFE) || (first[0] == 0xFE && first[1] == 0xFF));
    if (wide) return rue_fail(error, RUE_DATA, "%s is UTF-16 text: save it as UTF-8", csv->name);
    const char *nul = memchr(csv->text, 0, csv->bytes);
    if (!nul) return RUE_OK;
    return rue_fail(error, RUE_DATA,
                    "%s, line %" PRIu64 ": a NUL byte, so it is not a text file: give a CSV file", csv->name,
                    rue_csv_line(csv->text, nul));
}

rue_status rue_csv_open(const char *name, char *text, size_t bytes, struct rue_csv **out, rue_error *error)
{
    struct rue_csv *csv = *out = calloc(1, sizeof *csv);
    if (!csv) return free(text), rue_fail_memory(error, "a table", sizeof *csv);
    csv->text = text;
    csv->bytes = bytes;
    csv->name = strdup(name);
    csv->at = text + (strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
    csv->line = 1;
    rue_status status = csv->name ? check_text(csv, error) : rue_fail_memory(error, "a table", strlen(name));
    if (status != RUE_OK) rue_csv_close(csv), *out = NULL;
    return status;
}

void rue_csv_close(struct rue_csv *csv)
{
    if (!csv) return;
    free(csv->fields);
    free(csv->text);
    free(csv->name);
    free(csv);
}

const char *rue_csv_name(const struct rue_csv *csv)
{
    return csv->name;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

char *rue_csv_trim(char *field)
{
    while (is_blank(*field)) field++;
    size_t bytes = strlen(field);
    while (bytes > 0 && is_blank(field[bytes - 1])) bytes--;
    field[bytes] = 0;
    return field;
}

enum rue_csv_kind rue_csv_kind(const char *text, int32_t *value)
{
    char *end;
    double number = strtod(text, &end);
    bool converted = end > text && !end[strspn(end, " \t")];
    bool decimal = !text[strspn(text, "0123456789+-.eE \t")];
    bool several = strpbrk(text, "0123456789") && !text[strspn(text, "0123456789.,;| \t")];
    bool whole =
        converted && decimal && number >= INT32_MIN && number <= INT32_MAX && number == (int32_t)number;
    if (whole) *value = (int32_t)number;
    return whole ? RUE_CSV_WHOLE : converted || several ? RUE_CSV_NUMBER : RUE_CSV_WORD;
}

static void skip_blanks(struct rue_csv *csv)
{
    while (is_blank(*csv->at)) csv->at++;
}

/* Skips a line end, if there is one. */
static bool skip_line_end(struct rue_csv *csv)
{
    if (*csv->at != '\r' && *csv->at != '\n') return false;
    csv->at += csv->at[0] == '\r' && csv->at[1] == '\n' ? 2 : 1;
    csv->line++;
    return true;
}

/* Parses a quoted field in place: doubled quotes become one. Ends after the closing quote and blanks. */
static rue_status parse_quoted_field(struct rue_csv *csv, char **out, rue_error *error)
{
    uint64_t begin = csv->line;
    char *to = *out = ++csv->at;
    for (;; csv->at++) {
        if (!*csv->at)
            return rue_fail(error, RUE_DATA, "%s, line %" PRIu64 ": the quote that opens here has no end",
                            csv->name, begin);
        if (*csv->at == '"' && *++csv->at != '"') break;
        csv->line += *csv->at == '\n' || (*csv->at == '\r' && csv->at[1] != '\n');
        *to++ = *csv->at;
    }
    skip_blanks(csv);
    if (*csv->at && !strchr(",\r\n", *csv->at))
        return rue_fail(error, RUE_DATA,
                        "%s, line %" PRIu64 ": text after a closing quote; double a quote inside a field",
                        csv->name, csv->line);
    *to = 0; /* at or before the closing quote: the text after it does not change */
    return RUE_OK;
}

static rue_status add_field(struct rue_csv *csv, size_t index, char *field, rue_error *error)
{
    rue_status status = rue_array_grow(&csv->fields, &csv->field_capacity, index + 1, sizeof *csv->fields,
                                       "the fields of a line", error);
    if (status != RUE_OK) return status;
    csv->fields[index] = field;
    return RUE_OK;
}

/* Sets `*end` to the place of the NUL, for the caller to write after reading that character. NULL:
 * written. */
static rue_status parse_field(struct rue_csv *csv, char **out, char **end, rue_error *error)
{
    skip_blanks(csv);
    if (*csv->at == '"') {
        rue_status status = parse_quoted_field(csv, out, error);
        *end = NULL;
        return status;
    }
    *out = csv->at;
    csv->at += strcspn(csv->at, ",\r\n");
    *end = csv->at;
    while (*end > *out && is_blank((*end)[-1])) --*end;
    return RUE_OK;
}

/* Parses one line. `*filled`: a field is not empty, or holds quoted blanks. */
static rue_status parse_record(struct rue_csv *csv, size_t *count, bool *filled, rue_error *error)
{
    *filled = false;
    for (*count = 0;;) {
        char *field, *end;
        rue_status status = parse_field(csv, &field, &end, error);
        if (status == RUE_OK) status = add_field(csv, *count, field, error);
        if (status != RUE_OK) return status;
        ++*count;
        bool more = *csv->at == ',';
        *filled |= end ? end > field : *field != 0;
        if (more) csv->at++;
        if (!more) skip_line_end(csv);
        if (end) *end = 0;
        if (!more) return RUE_OK;
    }
}

rue_status rue_csv_next(struct rue_csv *csv, bool *found, struct rue_csv_record *out, rue_error *error)
{
    *found = false;
    while (*csv->at) {
        bool filled;
        *out = (struct rue_csv_record){.line = csv->line};
        rue_status status = parse_record(csv, &out->count, &filled, error);
        if (status != RUE_OK) return status;
        if (!filled) continue;
        out->fields = csv->fields;
        *found = true;
        return RUE_OK;
    }
    return RUE_OK;
}
