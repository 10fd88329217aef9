#include "subset_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "hash.h"
#include "suggest.h"

static const char purpose[] = "the lines of a subset";

/* What a line has of the name of its item; what is later here counts more. */
enum match { LAST_PART_NO_EXTENSION, NO_EXTENSION, LAST_PART, WHOLE_NAME };

/* A line that names an item. */
struct line {
    uint64_t number;  /* in the file, from 1 */
    uint64_t item;    /* that has the name; NO_ITEM: none so far */
    uint64_t other;   /* another item that has it; NO_ITEM: none */
    size_t text;      /* offset in `texts` */
    enum match match; /* of the line and the name of `item` */
};

enum { SUGGESTED_FROM = 20000 }; /* items, so that a message does not take seconds */
static const uint64_t NO_ITEM = UINT64_MAX;

struct listing {
    struct rue_picks *picks;
    const struct rue_subset_data *data;
    char *texts;
    size_t used, text_capacity;
    struct line *lines;
    size_t count, capacity;
    bool numbers;   /* whether all lines are numbers */
    size_t *places; /* [mask + 1] hash table: line + 1; 0: free */
    size_t mask;
};

static rue_status open_lines(const char *path, FILE **out, rue_error *error)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return rue_fail(error, RUE_DATA, "cannot open the subset %.300s: %s", path, strerror(errno));
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        return rue_fail(error, RUE_DATA, "the subset %.300s is not a regular file", path);
    }
    *out = fdopen(fd, "r");
    if (*out) return RUE_OK;
    close(fd);
    return rue_fail_memory(error, purpose, BUFSIZ);
}

/* Numbers have no leading zero: names of items often do. */
static bool is_number(const char *text)
{
    return strspn(text, "0123456789") == strlen(text) && (text[0] != '0' || !text[1]);
}

static rue_status add_line(struct listing *list, const char *text, rue_error *error)
{
    size_t bytes = strlen(text) + 1;
    if (list->count == list->data->count)
        return rue_picks_fail(list->picks, error,
                              "the file has more lines than %.300s has items (%" PRIu64 ")", list->data->path,
                              list->data->count);
    rue_status status =
        rue_array_grow(&list->texts, &list->text_capacity, list->used + bytes, 1, purpose, error);
    if (status == RUE_OK)
        status = rue_array_grow(&list->lines, &list->capacity, list->count + 1, sizeof *list->lines, purpose,
                                error);
    if (status != RUE_OK) return status;
    memcpy(list->texts + list->used, text, bytes);
    list->lines[list->count++] =
        (struct line){list->picks->line, NO_ITEM, NO_ITEM, list->used, LAST_PART_NO_EXTENSION};
    list->used += bytes;
    list->numbers &= is_number(text);
    return RUE_OK;
}

/* Skips blank lines, blanks and CR at their ends, and "./" at their beginnings. */
static rue_status read_lines(struct listing *list, FILE *file, rue_error *error)
{
    char *line = NULL;
    size_t capacity = 0;
    rue_status status = RUE_OK;
    list->numbers = true;
    for (ssize_t length; status == RUE_OK && (length = getline(&line, &capacity, file)) >= 0;) {
        list->picks->line++;
        while (length > 0 && strchr(" \t\r\n", line[length - 1])) line[--length] = 0;
        if (length > 0) status = add_line(list, line + (strncmp(line, "./", 2) == 0 ? 2 : 0), error);
    }
    if (status == RUE_OK && ferror(file))
        status = rue_fail(error, RUE_DATA, "cannot read %s: %s", list->picks->text, strerror(errno));
    free(line);
    return status;
}

static rue_status add_numbers(struct listing *list, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < list->count; i++) {
        list->picks->line = list->lines[i].number;
        status = rue_picks_add(list->picks, strtoull(list->texts + list->lines[i].text, NULL, 10), error);
    }
    return status;
}

/* ---- names ---- */

/* The place of `name` in the table, or a free one. */
static size_t *find_place(const struct listing *list, const char *name)
{
    size_t at = rue_hash(RUE_HASH_START, name, strlen(name)) & list->mask;
    while (list->places[at] && strcmp(list->texts + list->lines[list->places[at] - 1].text, name) != 0)
        at = (at + 1) & list->mask;
    return &list->places[at];
}

static rue_status open_table(struct listing *list, rue_error *error)
{
    list->mask = 15;
    while (list->mask < 2 * list->count) list->mask = 2 * list->mask + 1;
    list->places = calloc(list->mask + 1, sizeof *list->places);
    if (!list->places) return rue_fail_memory(error, purpose, (list->mask + 1) * sizeof *list->places);
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->texts + list->lines[i].text;
        size_t *place = find_place(list, name);
        list->picks->line = list->lines[i].number;
        if (*place) return rue_picks_fail(list->picks, error, "'%.200s' is given twice: remove one", name);
        *place = i + 1;
    }
    return RUE_OK;
}

static void match_text(struct listing *list, const char *text, uint64_t item, enum match match)
{
    size_t place = *find_place(list, text);
    struct line *line = place ? &list->lines[place - 1] : NULL;
    if (!line || line->match > match) return;
    line->other = line->match == match ? line->item : NO_ITEM;
    line->item = item;
    line->match = match;
}

/* Changes the name. */
static void match_name(struct listing *list, char *name, uint64_t item)
{
    char *slash = strrchr(name, '/'), *part = slash ? slash + 1 : name, *dot = strrchr(part, '.');
    match_text(list, name, item, WHOLE_NAME);
    if (slash) match_text(list, part, item, LAST_PART);
    if (!dot) return;
    *dot = 0;
    match_text(list, name, item, NO_EXTENSION);
    if (slash) match_text(list, part, item, LAST_PART_NO_EXTENSION);
}

static rue_status fail_unknown(const struct listing *list, const char *name, rue_error *error)
{
    char key[PATH_MAX], best[PATH_MAX] = "", hint[RUE_SUGGESTION_BYTES];
    const char *const near = best;
    for (uint64_t i = 0; i < list->data->count && i < SUGGESTED_FROM; i++) {
        list->data->key(list->data->source, i, key, sizeof key);
        if (rue_suggest(name, (const char *const[]){best[0] ? best : key, key}, 2) == key)
            memcpy(best, key, strlen(key) + 1);
    }
    list->data->key(list->data->source, 0, key, sizeof key);
    rue_did_you_mean(name, &near, best[0] != 0, "", hint);
    return rue_picks_fail(list->picks, error, "%.300s has no item '%.200s'%s%.100s", list->data->path, name,
                          best[0] ? hint : "; its names are such as ", best[0] ? "" : key);
}

static rue_status add_line_items(struct listing *list, rue_error *error)
{
    rue_status status = RUE_OK;
    char one[PATH_MAX], other[PATH_MAX];
    for (size_t i = 0; status == RUE_OK && i < list->count; i++) {
        const struct line *line = &list->lines[i];
        list->picks->line = line->number;
        if (line->item == NO_ITEM) return fail_unknown(list, list->texts + line->text, error);
        if (line->other == NO_ITEM) {
            status = rue_picks_add(list->picks, line->item, error);
            continue;
        }
        list->data->key(list->data->source, line->other, one, sizeof one);
        list->data->key(list->data->source, line->item, other, sizeof other);
        return rue_picks_fail(list->picks, error,
                              "several items have the name '%.200s', such as items %" PRIu64 " and %" PRIu64
                              " (%.100s, %.100s): give numbers or paths",
                              list->texts + line->text, line->other, line->item, one, other);
    }
    return status;
}

static rue_status add_names(struct listing *list, rue_error *error)
{
    char key[PATH_MAX];
    rue_status status = open_table(list, error);
    for (uint64_t i = 0; status == RUE_OK && i < list->data->count; i++) {
        list->data->key(list->data->source, i, key, sizeof key);
        match_name(list, key, i);
    }
    return status == RUE_OK ? add_line_items(list, error) : status;
}

rue_status rue_subset_file_add(struct rue_picks *picks, const char *path, const struct rue_subset_data *data,
                               rue_error *error)
{
    struct listing list = {.picks = picks, .data = data};
    const char *text = picks->text;
    FILE *file = NULL;
    rue_status status = open_lines(path, &file, error);
    if (status != RUE_OK) return status;
    picks->text = path;
    status = read_lines(&list, file, error);
    if (status == RUE_OK) status = (list.numbers ? add_numbers : add_names)(&list, error);
    picks->text = text;
    picks->line = 0;
    fclose(file);
    free(list.texts);
    free(list.lines);
    free(list.places);
    return status;
}
