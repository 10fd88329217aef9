#include "csv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hash.h"
#include "interrupt.h"
#include "utf8.h"

struct rue_csv {
    char *name;
    char *text; /* [bytes], NUL behind it; records are taken apart in place */
    size_t bytes, capacity;
    char *at;
    uint64_t line; /* of `at` */
    uint64_t digest;
    size_t field_capacity;
    char **fields;
};

/* ---- reading ---- */

static rue_status make_room(struct rue_csv *csv, rue_error *error)
{
    if (csv->bytes + 1 < csv->capacity) return RUE_OK;
    if (csv->bytes >= RUE_CSV_BYTES_MAX)
        return rue_fail(error, RUE_DATA, "%s: larger than %zu bytes; leave out rows that are not needed",
                        csv->name, RUE_CSV_BYTES_MAX);
    size_t capacity = csv->capacity ? 2 * csv->capacity : 1 << 16;
    char *text = realloc(csv->text, capacity);
    if (!text) return rue_fail_memory(error, csv->name, capacity);
    csv->text = text;
    csv->capacity = capacity;
    return RUE_OK;
}

/* Interrupted calls go on by themselves, so a pipe that stays silent is waited for together with the signals.
 */
static rue_status wait_for_input(int fd)
{
    struct pollfd polled[] = {{.fd = fd, .events = POLLIN}, {.fd = rue_interrupt_fd(), .events = POLLIN}};
    while (poll(polled, 2, -1) < 0 && errno == EINTR)
        if (rue_interrupt_status() != RUE_OK) break;
    return rue_interrupt_status();
}

static rue_status read_all(struct rue_csv *csv, int fd, rue_error *error)
{
    for (;;) {
        rue_status status = make_room(csv, error);
        if (status == RUE_OK) status = wait_for_input(fd);
        if (status != RUE_OK) return status;
        ssize_t got = read(fd, csv->text + csv->bytes, csv->capacity - csv->bytes - 1);
        if (got == 0) return RUE_OK;
        if (got > 0) csv->bytes += (size_t)got;
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return rue_fail(error, RUE_DATA, "cannot read %s: %s", csv->name, strerror(errno));
    }
}

/* A FIFO is opened without waiting for its writer: read_all waits, and minds the signals. */
static rue_status read_file(struct rue_csv *csv, const char *path, rue_error *error)
{
    struct stat facts;
    if (strcmp(path, "-") == 0) return read_all(csv, STDIN_FILENO, error);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return rue_fail(error, RUE_DATA, "cannot open %s: %s", path, strerror(errno));
    rue_status status = RUE_OK;
    if (fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode))
        status = rue_fail(error, RUE_DATA,
                          "%s is a folder: give a table, a CSV file (for a study's folder: rue show %s)",
                          path, path);
    if (status == RUE_OK) status = read_all(csv, fd, error);
    close(fd);
    return status;
}

/* ---- what text may hold ---- */

static uint64_t line_of(const char *text, const char *at)
{
    uint64_t line = 1;
    for (; text < at; text++) line += *text == '\n' || (*text == '\r' && text[1] != '\n');
    return line;
}

static rue_status check_text(struct rue_csv *csv, rue_error *error)
{
    const unsigned char *first = (const unsigned char *)csv->text;
    bool wide =
        csv->bytes >= 2 && ((first[0] == 0xFF && first[1] == 0xFE) || (first[0] == 0xFE && first[1] == 0xFF));
    if (wide) return rue_fail(error, RUE_DATA, "%s: UTF-16: save it as UTF-8 text", csv->name);
    if (memchr(csv->text, 0, csv->bytes))
        return rue_fail(error, RUE_DATA, "%s, line %" PRIu64 ": a NUL byte: this is no text; give a CSV file",
                        csv->name, line_of(csv->text, memchr(csv->text, 0, csv->bytes)));
    for (const char *at = csv->text; *at;) {
        const char *here = at;
        if ((unsigned char)*at < 0x80)
            at++;
        else if (rue_utf8_next(&at) < 0)
            return rue_fail(error, RUE_DATA,
                            "%s, line %" PRIu64 ": the byte 0x%02X is no UTF-8: save the file as UTF-8 "
                            "(iconv -f latin1 -t utf-8)",
                            csv->name, line_of(csv->text, here), (unsigned char)*here);
    }
    return RUE_OK;
}

static rue_status start(struct rue_csv *csv, rue_error *error)
{
    csv->text[csv->bytes] = 0;
    csv->digest = rue_hash(RUE_HASH_START, csv->text, csv->bytes);
    csv->at = csv->text + (strncmp(csv->text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
    csv->line = 1;
    return check_text(csv, error);
}

static rue_status allocate(const char *name, struct rue_csv **out, rue_error *error)
{
    struct rue_csv *csv = *out = calloc(1, sizeof *csv);
    if (csv && (csv->name = strdup(name))) return RUE_OK;
    return rue_fail_memory(error, "a table", sizeof *csv + strlen(name));
}

rue_status rue_csv_open(const char *path, struct rue_csv **out, rue_error *error)
{
    rue_status status = allocate(strcmp(path, "-") == 0 ? "standard input" : path, out, error);
    if (status == RUE_OK) status = read_file(*out, path, error);
    if (status == RUE_OK) status = start(*out, error);
    if (status != RUE_OK) rue_csv_close(*out), *out = NULL;
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

uint64_t rue_csv_digest(const struct rue_csv *csv)
{
    return csv->digest;
}

/* ---- records ---- */

static void pass_blanks(struct rue_csv *csv)
{
    while (*csv->at == ' ' || *csv->at == '\t') csv->at++;
}

/* Moves behind a line end, where there is one. */
static bool pass_line_end(struct rue_csv *csv)
{
    if (*csv->at != '\r' && *csv->at != '\n') return false;
    csv->at += csv->at[0] == '\r' && csv->at[1] == '\n' ? 2 : 1;
    csv->line++;
    return true;
}

/* The inside of a quoted field, moved up where quotes were doubled; ends at what follows it. */
static rue_status take_quoted(struct rue_csv *csv, char **out, rue_error *error)
{
    uint64_t begin = csv->line;
    char *to = *out = ++csv->at;
    for (;; csv->at++) {
        if (!*csv->at)
            return rue_fail(error, RUE_DATA,
                            "%s, line %" PRIu64 ": the quote that opens here is never closed", csv->name,
                            begin);
        if (*csv->at == '"' && *++csv->at != '"') break;
        csv->line += *csv->at == '\n' || (*csv->at == '\r' && csv->at[1] != '\n');
        *to++ = *csv->at;
    }
    pass_blanks(csv);
    if (*csv->at && !strchr(",\r\n", *csv->at))
        return rue_fail(error, RUE_DATA,
                        "%s, line %" PRIu64
                        ": text behind a closing quote; a quote inside a field is doubled",
                        csv->name, csv->line);
    *to = 0; /* at the closing quote at the latest, so that what follows stays */
    return RUE_OK;
}

static rue_status add_field(struct rue_csv *csv, size_t index, char *field, rue_error *error)
{
    if (index == csv->field_capacity) {
        size_t capacity = csv->field_capacity ? 2 * csv->field_capacity : 32;
        char **fields = realloc(csv->fields, capacity * sizeof *fields);
        if (!fields) return rue_fail_memory(error, "the fields of a line", capacity * sizeof *fields);
        csv->fields = fields;
        csv->field_capacity = capacity;
    }
    csv->fields[index] = field;
    return RUE_OK;
}

/* Sets `*end` to where the field's NUL belongs once what ends it has been looked at. */
static rue_status take_field(struct rue_csv *csv, char **out, char **end, rue_error *error)
{
    pass_blanks(csv);
    if (*csv->at == '"') {
        rue_status status = take_quoted(csv, out, error);
        *end = NULL;
        return status;
    }
    *out = csv->at;
    csv->at += strcspn(csv->at, ",\r\n");
    *end = csv->at;
    while (*end > *out && ((*end)[-1] == ' ' || (*end)[-1] == '\t')) --*end;
    return RUE_OK;
}

/* One line; `*filled` tells whether any field holds anything. */
static rue_status take_record(struct rue_csv *csv, size_t *count, bool *filled, rue_error *error)
{
    *filled = false;
    for (*count = 0;;) {
        char *field, *end;
        rue_status status = take_field(csv, &field, &end, error);
        if (status == RUE_OK) status = add_field(csv, *count, field, error);
        if (status != RUE_OK) return status;
        ++*count;
        bool more = *csv->at == ',';
        *filled |= end ? end > field : *field != 0;
        if (more) csv->at++;
        if (!more) pass_line_end(csv);
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
        rue_status status = take_record(csv, &out->count, &filled, error);
        if (status != RUE_OK) return status;
        if (!filled) continue;
        out->fields = csv->fields;
        *found = true;
        return RUE_OK;
    }
    return RUE_OK;
}
