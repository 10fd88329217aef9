#include "csv_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hash.h"
#include "utf8.h"

struct text {
    const char *name;
    char *data; /* [capacity] */
    size_t bytes, capacity;
};

/* ---- reading ---- */

static rue_status make_room(struct text *text, rue_error *error)
{
    if (text->bytes + 1 < text->capacity) return RUE_OK;
    if (text->bytes >= RUE_CSV_FILE_BYTES_MAX)
        return rue_fail(error, RUE_DATA, "%s: larger than %zu bytes; leave out rows that are not needed",
                        text->name, RUE_CSV_FILE_BYTES_MAX);
    size_t capacity = text->capacity ? 2 * text->capacity : 1 << 16;
    char *data = realloc(text->data, capacity);
    if (!data) return rue_fail_memory(error, text->name, capacity);
    text->data = data;
    text->capacity = capacity;
    return RUE_OK;
}

static rue_status read_all(struct text *text, FILE *file, rue_error *error)
{
    for (size_t got = 1; got > 0; text->bytes += got) {
        rue_status status = make_room(text, error);
        if (status != RUE_OK) return status;
        got = fread(text->data + text->bytes, 1, text->capacity - text->bytes - 1, file);
    }
    return ferror(file) ? rue_fail(error, RUE_DATA, "cannot read %s: %s", text->name, strerror(errno))
                        : RUE_OK;
}

static rue_status read_file(struct text *text, const char *path, rue_error *error)
{
    struct stat facts;
    if (strcmp(path, "-") == 0) return read_all(text, stdin, error);
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode))
        return rue_fail(error, RUE_DATA,
                        "%s is a folder: give a table, a CSV file (for a study's folder: rue show %s)", path,
                        path);
    FILE *file = fopen(path, "re");
    if (!file) return rue_fail(error, RUE_DATA, "cannot open %s: %s", path, strerror(errno));
    rue_status status = read_all(text, file, error);
    fclose(file);
    return status;
}

/* ---- what text may hold ---- */

static rue_status check_utf8(const char *name, const char *text, rue_error *error)
{
    for (const char *at = text; *at;) {
        const char *here = at;
        if ((unsigned char)*at < 0x80)
            at++;
        else if (rue_utf8_next(&at) < 0)
            return rue_fail(error, RUE_DATA,
                            "%s, line %" PRIu64 ": the byte 0x%02X is no UTF-8: save the file as UTF-8 "
                            "(iconv -f latin1 -t utf-8)",
                            name, rue_csv_line(text, here), (unsigned char)*here);
    }
    return RUE_OK;
}

rue_status rue_csv_file_open(const char *path, struct rue_csv **out, uint64_t *digest, rue_error *error)
{
    static const struct rue_csv_rules rules = {.field_max = SIZE_MAX, .trims = true};
    struct text text = {.name = strcmp(path, "-") == 0 ? "standard input" : path};
    rue_status status = read_file(&text, path, error);
    if (status != RUE_OK) return free(text.data), status;
    text.data[text.bytes] = 0;
    *digest = rue_hash(RUE_HASH_START, text.data, text.bytes);
    status = rue_csv_open(text.name, text.data, text.bytes, &rules, out, error);
    if (status != RUE_OK) return status;
    status = check_utf8(text.name, text.data, error);
    if (status != RUE_OK) rue_csv_close(*out), *out = NULL;
    return status;
}
