/* The csv format: a list of the source's files and their labels. No file is copied. Paths of files below the
 * list's folder are relative to it, so that both can be moved together; others are absolute. */
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "item_file.h"
#include "part.h"
#include "sink.h"

struct list {
    const struct rue_sink_options *options;
    char path[PATH_MAX];
    char folder[PATH_MAX], current[PATH_MAX]; /* of the list, and of the program; absolute */
    FILE *file;
};

static void close_csv(void *state)
{
    struct list *list = state;
    if (list->file) fclose(list->file);
}

static rue_status open_csv(void *state, const char *path, const struct rue_sink_options *options,
                           rue_error *error)
{
    struct list *list = state;
    char name[PATH_MAX];
    list->options = options;
    snprintf(list->path, sizeof list->path, "%s", rue_sink_path(options, path));
    memcpy(name, list->path, sizeof name);
    list->file = fopen(path, "wxe");
    if (!list->file || !realpath(dirname(name), list->folder) || !getcwd(list->current, sizeof list->current))
        return rue_item_file_fail(list->path, "", error);
    fputs(options->unlabelled ? "path\n" : "path,label\n", list->file);
    return RUE_OK;
}

/* Quotes a field if it needs that to be read back. */
static void write_field(FILE *file, const char *text)
{
    size_t length = strlen(text);
    bool blanks = length && (strchr(" \t", text[0]) || strchr(" \t", text[length - 1]));
    bool quoted = blanks || strpbrk(text, ",\"\r\n");
    if (quoted) fputc('"', file);
    for (; *text; text++) {
        if (*text == '"') fputc('"', file);
        fputc(*text, file);
    }
    if (quoted) fputc('"', file);
}

/* Writes the absolute path to `out`, without empty parts and parts ".". */
static void make_absolute(const struct list *list, const char *path, char *out, size_t bytes)
{
    size_t used = *path == '/' ? 0 : (size_t)snprintf(out, bytes, "%s", list->current);
    while (used && out[used - 1] == '/') used--;
    for (size_t length; *path; path += length) {
        path += strspn(path, "/");
        length = strcspn(path, "/");
        if (!length || (length == 1 && *path == '.') || used + length + 2 > bytes) continue;
        used += (size_t)snprintf(out + used, bytes - used, "/%.*s", (int)length, path);
    }
}

static rue_status add_to_csv(void *state, const struct rue_item *item, rue_error *error)
{
    struct list *list = state;
    char absolute[3 * PATH_MAX];
    make_absolute(list, item->key, absolute, sizeof absolute);
    size_t folder = strcmp(list->folder, "/") == 0 ? 0 : strlen(list->folder);
    bool below = strncmp(absolute, list->folder, folder) == 0 && absolute[folder] == '/';
    write_field(list->file, below ? absolute + folder + 1 : absolute);
    if (!list->options->unlabelled) fputc(',', list->file);
    if (list->options->class_count)
        write_field(list->file, list->options->classes[item->label]);
    else if (!list->options->unlabelled)
        fprintf(list->file, "%" PRId32, item->label);
    return fputc('\n', list->file) == '\n' ? RUE_OK : rue_item_file_fail(list->path, "", error);
}

static rue_status finish_csv(void *state, rue_error *error)
{
    struct list *list = state;
    if (fflush(list->file) != 0 || ferror(list->file)) return rue_item_file_fail(list->path, "", error);
    return rue_write_flush(fileno(list->file), list->path, error);
}

const struct rue_sink_ops rue_sink_csv = {
    .format = "csv",
    .suffix = ".csv",
    .help = "a list of the files of SRC and their labels",
    .has_mode = {[RUE_RAW] = true},
    .lists_files = true,
    .state_bytes = sizeof(struct list),
    .open = open_csv,
    .add = add_to_csv,
    .finish = finish_csv,
    .close = close_csv,
};
