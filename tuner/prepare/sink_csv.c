/* The csv format: images in the folder of their split, as sink_folder.c writes them, and beside it the list
 * "<split>.csv" with their paths and labels: the names of classes, or numbers where these have no names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "advice.h"
#include "part.h"
#include "sink_folder.h"

struct list {
    const struct rue_sink_options *options;
    char path[PATH_MAX]; /* of the list */
    FILE *rows;
    void *images; /* of sink_folder.c */
};

static void close_list(void *state)
{
    struct list *list = state;
    if (list->images) rue_sink_folder.close(list->images);
    free(list->images);
    if (list->rows) fclose(list->rows);
}

static rue_status fail_list(const struct list *list, const char *doing, rue_error *error)
{
    return rue_fail(error, RUE_STORE, "cannot %s %s: %s%s", doing, list->path, strerror(errno),
                    rue_advice_or(errno, "; write to another folder"));
}

/* In quotes where it would be read as something else without. */
static void put_field(FILE *rows, const char *field)
{
    size_t length = strlen(field);
    bool plain = length > 0 && !strpbrk(field, ",\"\r\n") && !strchr(" \t", field[0]) &&
                 !strchr(" \t", field[length - 1]) && strncmp(field, "\xEF\xBB\xBF", 3) != 0;
    if (!plain) fputc('"', rows);
    for (; *field; field++) fprintf(rows, *field == '"' ? "\"\"" : "%c", *field);
    if (!plain) fputc('"', rows);
}

static rue_status open_list(void *state, const char *path, const struct rue_sink_options *options,
                            rue_error *error)
{
    char images[PATH_MAX];
    struct list *list = state;
    list->options = options;
    snprintf(list->path, sizeof list->path, "%s/%s.csv", path, options->split);
    snprintf(images, sizeof images, "%s/%s", path, options->split);
    mkdir(path, 0777); /* opening the list tells why there is none */
    list->rows = fopen(list->path, "wxe");
    if (!list->rows) return fail_list(list, "create", error);
    fputs("path,label\n", list->rows);
    list->images = calloc(1, rue_sink_folder.state_bytes);
    return list->images ? rue_sink_folder.open(list->images, images, options, error)
                        : rue_fail_memory(error, "a folder", rue_sink_folder.state_bytes);
}

static rue_status add_to_csv(void *state, const struct rue_item *item, rue_error *error)
{
    struct list *list = state;
    const struct rue_sink_options *options = list->options;
    char name[PATH_MAX], path[2 * PATH_MAX];
    if (options->class_count && (item->label < 0 || !options->classes[item->label][0]))
        return rue_fail(error, RUE_DATA,
                        "'%.200s' has no class with a name: write another format, or name all classes",
                        item->key);
    rue_status status = rue_sink_folder.add(list->images, item, error);
    if (status != RUE_OK) return status;
    rue_sink_image_name(options, item, name, sizeof name);
    snprintf(path, sizeof path, "%s/%s", options->split, name);
    put_field(list->rows, path);
    fputc(',', list->rows);
    if (options->class_count)
        put_field(list->rows, options->classes[item->label]);
    else
        fprintf(list->rows, "%d", item->label);
    fputc('\n', list->rows);
    return ferror(list->rows) ? fail_list(list, "write", error) : RUE_OK;
}

static rue_status finish(void *state, rue_error *error)
{
    struct list *list = state;
    rue_status status = rue_sink_folder.finish(list->images, error);
    if (status == RUE_OK && fflush(list->rows) != 0) status = fail_list(list, "write", error);
    return status == RUE_OK ? rue_write_flush(fileno(list->rows), list->path, error) : status;
}

const struct rue_sink_ops rue_sink_csv = {
    .format = "csv",
    .help = "a CSV file of paths and labels, and the JPEG files beside it",
    .holds = {[RUE_RAW] = true},
    .splits = true,
    .label_min = INT32_MIN,
    .labels_classed = true,
    .state_bytes = sizeof(struct list),
    .open = open_list,
    .add = add_to_csv,
    .finish = finish,
    .close = close_list,
};
