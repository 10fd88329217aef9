/* The csv format: a text file whose header names a column of paths, absolute or relative to the file's
 * folder, and perhaps a column of labels. If most labels are numbers, all must be, and they are the labels of
 * the items; else they are class names, numbered in bytewise order. Items are in the order of the lines. */
#include <ctype.h>
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
#include "note.h"
#include "source.h"
#include "utf8.h"

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
    const char *path_name;             /* of the column of paths */
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

/* Writes the names of the columns, as many as fit. */
static const char *list_columns(const struct rue_csv_record *header, char out[NAMES_BYTES])
{
    out[0] = 0;
    for (size_t f = 0; f < header->count; f++) rue_note_list_name(out, NAMES_BYTES, header->fields[f], 40);
    return out;
}

/* What separates the fields of a line without commas; NULL: nothing. */
static const char *find_separator(const struct rue_csv_record *record)
{
    if (record->count > 1) return NULL;
    const char *found = strpbrk(record->fields[0], ";\t|");
    return !found ? NULL : *found == ';' ? "';'" : *found == '|' ? "'|'" : "tabs";
}

static rue_status fail_separator(const struct list *list, uint64_t line, const char *separator,
                                 rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s, line %" PRIu64 ": fields are separated by %s: separate them by ','",
                    list->path, line, separator);
}

/* A comment, or the separator for spreadsheets. */
static bool is_remark(const char *field)
{
    return *field == '#' || strncasecmp(field, "sep=", 4) == 0;
}

static bool names_images(const struct rue_csv_record *record)
{
    for (size_t f = 0; f < record->count; f++)
        if (rue_files_image_kind(record->fields[f])) return true;
    return false;
}

static rue_status fail_columns(const struct list *list, const struct rue_csv_record *header,
                               const char *problem, const char *option, rue_error *error)
{
    char names[NAMES_BYTES];
    const char *separator = find_separator(header);
    if (is_remark(header->fields[0]))
        return rue_fail(error, RUE_DATA,
                        "%s, line %" PRIu64 ": expected a header line, found '%.100s': remove this line%s",
                        list->path, header->line, header->fields[0],
                        header->fields[0][0] == '#' ? ", or its '#'" : "");
    if (separator) return fail_separator(list, header->line, separator, error);
    if (names_images(header))
        return rue_fail(error, RUE_DATA,
                        "%s, line %" PRIu64 ": expected a header line, found an image: begin with a line "
                        "such as path,label",
                        list->path, header->line);
    list_columns(header, names);
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
    list->path_name = header->fields[list->path_at];
    status =
        choose_column(list, header, options->label_key, label_names, "label_key", &list->label_at, error);
    char names[NAMES_BYTES];
    list->index->remarks.unlabelled = list->label_at == none;
    if (status == RUE_OK && list->label_at == none && header->count > 1)
        rue_index_note_unlabelled(list->index, "name their column with label_key; the columns are %s",
                                  list_columns(header, names));
    return status;
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

/* The ending that `path` lacks, or NULL: no file has that name with an ending. */
static const char *find_ending(const struct list *list, const char *path)
{
    static const char *const endings[] = {".jpg",  ".jpeg", ".jpe", ".png",  ".webp", ".gif", ".bmp", ".JPG",
                                          ".JPEG", ".JPE",  ".PNG", ".WEBP", ".GIF",  ".BMP", NULL};
    char whole[PATH_MAX];
    struct stat info;
    const char *const *ending = endings;
    for (; *ending; ending++) {
        snprintf(whole, sizeof whole, "%s%s", path, *ending);
        if (fstatat(rue_files_folder_fd(list->index->files), whole, &info, 0) == 0) break;
    }
    return *ending;
}

/* What to do about a path that does not exist. */
static const char *advise_path(const struct list *list, const char *path)
{
    size_t length = strlen(path);
    bool blanks = isblank((unsigned char)path[0]) || isblank((unsigned char)path[length - 1]);
    return !rue_utf8_is_valid(path)                          ? "it is not UTF-8: save the list as UTF-8"
           : strncmp(path, "\xEF\xBB\xBF", 3) == 0           ? "remove the byte order mark before it"
           : strcasecmp(path, list->path_name) == 0          ? "remove the second header line"
           : is_remark(path)                                 ? "remove this line"
           : strstr(path, "://")                             ? "give the path of a file instead of a URL"
           : isalpha((unsigned char)*path) && path[1] == ':' ? "give a path of this machine, without a drive"
           : strchr(path, '\\')                              ? "write '/' instead of '\\'"
           : *path == '\''                                   ? "quote with \" instead of '"
           : *path == '~'                                    ? "write the whole path instead of '~'"
           : blanks                                          ? "remove the blanks around the path"
           : *path != '/' ? "relative paths start at the folder of the list"
                          : "correct the path, or remove the line";
}

static rue_status measure_file(const struct list *list, const char *path, uint64_t line, uint64_t *bytes,
                               rue_error *error)
{
    struct stat info;
    if (fstatat(rue_files_folder_fd(list->index->files), path, &info, 0) != 0) {
        if (rue_source_failure(errno) != RUE_DATA) return rue_fail_open(error, path);
        bool missing = errno == ENOENT || errno == ENOTDIR;
        const char *why = strerror(errno), *ending = missing ? find_ending(list, path) : NULL;
        if (ending)
            return fail_line(list, line, error, "%.400s: %s, but %.400s%s exists: write the whole name", path,
                             why, path, ending);
        return fail_line(list, line, error, "%.400s: %s%s%s", path, why, missing ? "; " : "",
                         missing ? advise_path(list, path) : "");
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
    if (!*label.text)
        return fail_line(list, record->line, error, "the label is empty: add it, or remove the line");
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
    if (count != list->columns && is_remark(record->fields[0]))
        return fail_line(list, record->line, error, "expected an image, found '%.100s': remove this line",
                         record->fields[0]);
    const char *separator = find_separator(record);
    if (separator && list->columns > 1) return fail_separator(list, record->line, separator, error);
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

static bool has_leading_zero(const char *number)
{
    number += strspn(number, " \t+-");
    return number[0] == '0' && number[1] >= '0' && number[1] <= '9';
}

/* Whether programs write this for a label that is missing. Among words, it may be the name of a class. */
static bool is_missing(const char *text)
{
    static const char *const words[] = {"NA", "N/A", "None", "null", "nil"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0) return true;
    return false;
}

/* With one name among numbers, all labels would be names; so the majority decides what labels are. */
static rue_status finish_labels(struct list *list, rue_error *error)
{
    struct rue_index *index = list->index;
    const struct label *wrong = NULL, *padded = NULL, *number = NULL;
    uint64_t words = 0, missing = 0;
    for (uint64_t i = 0; i < index->count; i++) {
        const struct label *label = &list->labels[i];
        enum rue_csv_kind kind = rue_csv_kind(label->text, &index->entries[i].label);
        words += kind == RUE_CSV_WORD;
        missing += is_missing(label->text);
        if (kind != RUE_CSV_WHOLE && !wrong) wrong = label;
        if (kind == RUE_CSV_WHOLE && !padded && has_leading_zero(label->text)) padded = label;
        if (kind != RUE_CSV_WORD && !number) number = label;
    }
    bool names = words >= index->count - words && (words > missing || !number);
    if (names && number)
        rue_index_note(index, "labels are names of classes, also '%.100s' in line %" PRIu64, number->text,
                       number->line);
    if (names) return name_classes(list, error);
    if (wrong)
        return fail_line(list, wrong->line, error,
                         "labels are numbers, but '%.100s' is not a whole number below 2^31: correct it, or "
                         "name another column with label_key",
                         wrong->text);
    if (padded)
        rue_index_note(index, "labels are numbers, so '%.100s' in line %" PRIu64 " is without its zeros",
                       padded->text, padded->line);
    return RUE_OK;
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
    .help = "a CSV file that names images and their labels",
    .probe = probe_csv,
    .open = open_list,
    .key = csv_item_key,
};
