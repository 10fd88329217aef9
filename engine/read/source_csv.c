/* The csv format: a text file whose header names a column of paths, absolute or relative to the file's
 * folder, and perhaps a column of labels. If all labels are numbers they are the labels of the items; else
 * they are class names, numbered in bytewise order. Items are in the order of the lines. */
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "array.h"
#include "csv.h"
#include "files.h"
#include "source.h"

enum { NAMES_BYTES = 400 };
static const uint64_t text_bytes_max = UINT64_C(1) << 30;
static const size_t none = SIZE_MAX;

/* A label as written in the list, which owns the text. */
struct label {
    const char *text;
    uint64_t line;
};

/* The state while a list is opened. */
struct list {
    const char *path; /* the CSV file */
    struct rue_index *index;
    struct rue_csv *csv;
    struct label *labels; /* [index->count] if there is a label column */
    size_t label_capacity;
    size_t path_at, label_at, columns; /* `none`: there is no such column */
};

/* The default names of the columns of paths and labels. */
static const char *const path_names[] = {"path", "file", "filename", "image", "image_path", "filepath", NULL};
static const char *const label_names[] = {"label", "class", "target", "category", NULL};

/* ---- columns ---- */

/* The column with the first of these names that exists, or `none`. */
static size_t find_column(const struct rue_csv_record *header, const char *const *names)
{
    for (const char *const *name = names; *name; name++)
        for (size_t f = 0; f < header->count; f++)
            if (strcasecmp(header->fields[f], *name) == 0) return f;
    return none;
}

static rue_status fail_columns(const struct list *list, const struct rue_csv_record *header,
                               const char *problem, const char *option, rue_error *error)
{
    char names[NAMES_BYTES] = "";
    for (size_t f = 0, used = 0; f < header->count && used + 1 < sizeof names; f++)
        used +=
            (size_t)snprintf(names + used, sizeof names - used, "%s%.40s", f ? ", " : "", header->fields[f]);
    return rue_fail(error, RUE_DATA, "%s, line %" PRIu64 ": %s: name one with %s; the columns are %s",
                    list->path, header->line, problem, option, names);
}

/* Sets `*out` to the column `key`, or else to one with a default name, or to `none`. */
static rue_status choose_column(const struct list *list, const struct rue_csv_record *header, const char *key,
                                const char *const *names, const char *option, size_t *out, rue_error *error)
{
    const char *const key_names[] = {key, NULL};
    char problem[128];
    *out = find_column(header, key ? key_names : names);
    if (!key || *out != none) return RUE_OK;
    snprintf(problem, sizeof problem, "there is no column '%.60s'", key);
    return fail_columns(list, header, problem, option, error);
}

static rue_status find_columns(struct list *list, const struct rue_csv_record *header,
                               const struct rue_source_options *options, rue_error *error)
{
    list->columns = header->count;
    rue_status status =
        choose_column(list, header, options->image_key, path_names, "image_key", &list->path_at, error);
    if (status == RUE_OK && list->path_at == none)
        status = fail_columns(list, header, "no column has the name of a path column", "image_key", error);
    if (status != RUE_OK) return status;
    return choose_column(list, header, options->label_key, label_names, "label_key", &list->label_at, error);
}

/* ---- the text ---- */

static rue_status open_text(struct list *list, rue_error *error)
{
    uint64_t bytes = rue_files_identity(list->index->files, 0).bytes;
    if (bytes > text_bytes_max)
        return rue_fail(error, RUE_DATA, "%s is larger than %" PRIu64 " bytes: split it", list->path,
                        text_bytes_max);
    char *text = malloc(bytes + 1);
    if (!text) return rue_fail_memory(error, list->path, bytes);
    rue_status status = rue_files_read(list->index->files, 0, text, bytes, 0, error);
    if (status != RUE_OK) return free(text), status;
    text[bytes] = 0;
    return rue_csv_open(list->path, text, bytes, &list->csv, error);
}

/* ---- lines ---- */

__attribute__((format(printf, 4, 5))) static rue_status fail_line(const struct list *list, uint64_t line,
                                                                  rue_error *error, const char *format, ...)
{
    char problem[RUE_ERROR_MESSAGE_BYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(problem, sizeof problem, format, values);
    va_end(values);
    return rue_fail(error, RUE_DATA, "%s, line %" PRIu64 ": %s", list->path, line, problem);
}

static rue_status measure_file(const struct list *list, const char *path, uint64_t line, uint64_t *bytes,
                               rue_error *error)
{
    struct stat info;
    if (fstatat(rue_files_folder_fd(list->index->files), path, &info, 0) != 0) {
        if (rue_source_failure(errno) != RUE_DATA) return rue_fail_open(error, path);
        return fail_line(list, line, error, "%.400s: %s", path, strerror(errno));
    }
    if (!S_ISREG(info.st_mode))
        return fail_line(
            list, line, error, "%s%.400s",
            S_ISDIR(info.st_mode) ? "expected a file, found a folder: " : "not a regular file: ", path);
    *bytes = (uint64_t)info.st_size;
    return RUE_OK;
}

static rue_status keep_label(struct list *list, const struct rue_csv_record *record, rue_error *error)
{
    uint64_t item = list->index->count;
    const struct label label = {record->fields[list->label_at], record->line};
    if (!*label.text) return fail_line(list, record->line, error, "the label is empty");
    rue_status status =
        rue_array_grow(&list->labels, &list->label_capacity, item + 1, sizeof label, "labels", error);
    if (status == RUE_OK) list->labels[item] = label;
    return status;
}

static rue_status add_line(struct list *list, const struct rue_csv_record *record, rue_error *error)
{
    size_t count = record->count;
    while (count > list->columns && !*record->fields[count - 1])
        count--; /* extra commas from a spreadsheet */
    if (count != list->columns)
        return fail_line(list, record->line, error,
                         "%zu fields, but the header has %zu columns; quote a field that contains a comma",
                         count, list->columns);
    const char *path = record->fields[list->path_at];
    if (!*path) return fail_line(list, record->line, error, "the path is empty");
    struct rue_entry entry = {0};
    rue_status status = measure_file(list, path, record->line, &entry.bytes, error);
    if (status == RUE_OK && list->label_at != none) status = keep_label(list, record, error);
    return status == RUE_OK ? rue_index_add(list->index, &entry, path, error) : status;
}

/* ---- labels ---- */

static bool read_number(const char *text, int32_t *out)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    *out = (int32_t)number;
    return end > text && *text != '+' && !*end && !errno && number == *out;
}

static int compare_label_text(const void *a, const void *b)
{
    return strcmp(((const struct label *)a)->text, ((const struct label *)b)->text);
}

/* Adds each label as a class, and sets the labels of the items to class numbers. */
static rue_status name_classes(struct list *list, rue_error *error)
{
    struct rue_index *index = list->index;
    struct label *sorted = malloc(index->count * sizeof *sorted);
    if (!sorted) return rue_fail_memory(error, "class names", index->count * sizeof *sorted);
    memcpy(sorted, list->labels, index->count * sizeof *sorted);
    qsort(sorted, index->count, sizeof *sorted, compare_label_text);
    rue_status status = RUE_OK;
    size_t classes = 0;
    for (uint64_t i = 0; status == RUE_OK && i < index->count; i++) {
        if (classes && compare_label_text(&sorted[classes - 1], &sorted[i]) == 0) continue;
        sorted[classes++] = sorted[i];
        status = rue_index_add_class(index, sorted[i].text, strlen(sorted[i].text), error);
    }
    for (uint64_t i = 0; status == RUE_OK && i < index->count; i++) {
        const struct label *class =
            bsearch(&list->labels[i], sorted, classes, sizeof *sorted, compare_label_text);
        index->entries[i].label = (int32_t)(class - sorted);
    }
    free(sorted);
    return status;
}

/* If most labels are numbers, a word is an error: with it, all labels would be class names. */
static rue_status finish_labels(struct list *list, rue_error *error)
{
    struct rue_index *index = list->index;
    const struct label *word = NULL;
    uint64_t numbers = 0;
    for (uint64_t i = 0; i < index->count; i++) {
        bool is_number = read_number(list->labels[i].text, &index->entries[i].label);
        numbers += is_number;
        if (!is_number && !word) word = &list->labels[i];
    }
    if (!word) return RUE_OK;
    if (numbers <= index->count / 2) return name_classes(list, error);
    return fail_line(list, word->line, error,
                     "the label '%.100s' is not a whole number, but most labels are: correct it, or name "
                     "another column with label_key",
                     word->text);
}

static rue_status read_lines(struct list *list, const struct rue_source_options *options, rue_error *error)
{
    struct rue_csv_record record;
    bool found;
    rue_status status = rue_csv_next(list->csv, &found, &record, error);
    if (status != RUE_OK) return status;
    if (!found)
        return rue_fail(error, RUE_DATA, "%s is empty: expected a header line, then one line per image",
                        list->path);
    status = find_columns(list, &record, options, error);
    while (status == RUE_OK) {
        status = rue_source_check_stop(options, error);
        if (status == RUE_OK) status = rue_csv_next(list->csv, &found, &record, error);
        if (status != RUE_OK || !found) break;
        status = add_line(list, &record, error);
    }
    if (status != RUE_OK) return status;
    if (list->index->count == 0)
        return rue_fail(error, RUE_DATA, "%s has only a header line: expected one line per image",
                        list->path);
    return list->label_at != none ? finish_labels(list, error) : RUE_OK;
}

/* ---- probing ---- */

static bool ends_in_csv(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && strcasecmp(name + length - 4, ".csv") == 0;
}

static rue_status probe_csv(const char *path, bool *matches, rue_error *error)
{
    struct stat info;
    (void)error;
    *matches = ends_in_csv(path) && stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
    return RUE_OK;
}

/* ---- the source ---- */

/* Opens the file, and the folder of relative paths. */
static rue_status open_files(const struct list *list, rue_error *error)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", list->path);
    rue_status status = rue_files_add(&list->index->files, list->path, error);
    return status == RUE_OK ? rue_files_set_folder(&list->index->files, dirname(folder), error) : status;
}

static rue_status open_list(const char *path, const struct rue_source_options *options,
                            struct rue_index *index, rue_error *error)
{
    struct list list = {.path = path, .index = index};
    index->kind = RUE_ITEM_FILE;
    rue_status status = open_files(&list, error);
    if (status == RUE_OK) status = open_text(&list, error);
    if (status == RUE_OK) status = read_lines(&list, options, error);
    free(list.labels);
    rue_csv_close(list.csv);
    return status;
}

/* The path of the item, without the parts that lead out of the folder. */
static void csv_item_key(const struct rue_index *index, uint64_t item, char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = 0;
    for (const char *part = rue_index_name(index, item); *part;) {
        size_t length = strcspn(part, "/");
        bool up = length == 2 && part[0] == '.' && part[1] == '.';
        if (up)
            used = strrchr(out, '/') ? (size_t)(strrchr(out, '/') - out) : 0;
        else if (length > 0 && !(length == 1 && *part == '.') && used + length + 2 < bytes)
            used += (size_t)snprintf(out + used, bytes - used, "%s%.*s", used ? "/" : "", (int)length, part);
        out[used] = 0;
        part += length + (part[length] == '/');
    }
}

const struct rue_source_ops rue_source_csv = {
    .format = "csv",
    .has_mode = {[RUE_RAW] = true},
    .has_keys = true,
    .help = "a CSV file that names JPEG files and their labels",
    .probe = probe_csv,
    .open = open_list,
    .key = csv_item_key,
};
