/* The csv format: images in the folder of their split, as sink_folder.c writes them, and beside it the list
 * "<split>.csv" with their paths, labels and, where labels have names, classes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "file_io.h"
#include "part.h"
#include "sink.h"
#include "sink_image_name.h"

extern const struct rue_sink_ops rue_sink_folder;

enum { ROWS_BYTES = 1 << 16, ROW_MAX = 6 * PATH_MAX };

struct list {
    const struct rue_sink_options *options;
    char path[PATH_MAX]; /* of the list */
    int fd;
    void *images; /* of sink_folder.c */
    uint64_t added;
    uint64_t written; /* bytes of the list */
    size_t waiting;   /* of `rows` */
    char rows[ROWS_BYTES];
};

static void close_list(void *state)
{
    struct list *list = state;
    if (list->images) rue_sink_folder.close(list->images);
    if (list->fd >= 0) close(list->fd);
    free(list);
}

static rue_status write_rows(struct list *list, rue_error *error)
{
    rue_status status = rue_write_at(list->fd, list->path, list->rows, list->waiting, list->written, error);
    if (status != RUE_OK) return status;
    list->written += list->waiting;
    list->waiting = 0;
    return RUE_OK;
}

static void put_text(struct list *list, const char *text)
{
    list->waiting += (size_t)snprintf(list->rows + list->waiting, ROWS_BYTES - list->waiting, "%s", text);
}

/* In quotes where it would be read as something else without. */
static void put_field(struct list *list, const char *field)
{
    size_t length = strlen(field);
    bool plain = length > 0 && !strpbrk(field, ",\"\r\n") && !strchr(" \t", field[0]) &&
                 !strchr(" \t", field[length - 1]) && strncmp(field, "\xEF\xBB\xBF", 3) != 0;
    if (plain) return put_text(list, field);
    put_text(list, "\"");
    for (; *field; field++) put_text(list, *field == '"' ? "\"\"" : (char[]){*field, 0});
    put_text(list, "\"");
}

static rue_status begin_list(struct list *list, const struct rue_sink_mark *mark, rue_error *error)
{
    list->fd = open(list->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (list->fd < 0 || ftruncate(list->fd, (off_t)mark->place) != 0)
        return rue_fail(error, RUE_STORE, "cannot create %s: %s%s", list->path, strerror(errno),
                        rue_advice_or(errno, "; write to another folder"));
    list->added = mark->items;
    list->written = mark->place;
    if (mark->items == 0) put_text(list, list->options->class_count ? "path,label,class\n" : "path,label\n");
    return RUE_OK;
}

static rue_status open_list(const char *path, const struct rue_sink_options *options,
                            const struct rue_sink_mark *mark, void **state, rue_error *error)
{
    char images[PATH_MAX];
    struct list *list = calloc(1, sizeof *list);
    if (!list) return rue_fail_memory(error, "a CSV file", sizeof *list);
    list->options = options;
    list->fd = -1;
    snprintf(list->path, sizeof list->path, "%s/%s.csv", path, options->split);
    snprintf(images, sizeof images, "%s/%s", path, options->split);
    mkdir(path, 0777); /* opening the list tells why there is none */
    rue_status status = begin_list(list, mark, error);
    if (status == RUE_OK) status = rue_sink_folder.open(images, options, mark, &list->images, error);
    if (status != RUE_OK) return close_list(list), status;
    *state = list;
    return RUE_OK;
}

static rue_status add(void *state, const struct rue_item *item, rue_error *error)
{
    struct list *list = state;
    const struct rue_sink_options *options = list->options;
    char name[PATH_MAX], path[2 * PATH_MAX], label[16];
    rue_status status = rue_sink_folder.add(list->images, item, error);
    if (status == RUE_OK && list->waiting + ROW_MAX > ROWS_BYTES) status = write_rows(list, error);
    if (status != RUE_OK) return status;
    rue_sink_image_name(options, item, name, sizeof name);
    snprintf(path, sizeof path, "%s/%s", options->split, name);
    snprintf(label, sizeof label, ",%d", item->label);
    put_field(list, path);
    put_text(list, label);
    if (options->class_count) put_text(list, ",");
    if (item->label >= 0 && (size_t)item->label < options->class_count)
        put_field(list, options->classes[item->label]);
    put_text(list, "\n");
    list->added++;
    return RUE_OK;
}

static void key(const void *state, const struct rue_item *item, char *out, size_t bytes)
{
    rue_sink_image_name(((const struct list *)state)->options, item, out, bytes);
}

/* Images first, so that no line names one that is not there. */
static rue_status flush(void *state, struct rue_sink_mark *mark, rue_error *error)
{
    struct list *list = state;
    struct rue_sink_mark images;
    rue_status status = rue_sink_folder.flush(list->images, &images, error);
    if (status == RUE_OK) status = write_rows(list, error);
    if (status == RUE_OK) status = rue_write_flush(list->fd, list->path, error);
    if (status != RUE_OK) return status;
    *mark = (struct rue_sink_mark){.items = list->added, .place = list->written};
    return RUE_OK;
}

static rue_status finish(void *state, rue_error *error)
{
    struct rue_sink_mark mark;
    return flush(state, &mark, error);
}

const struct rue_sink_ops rue_sink_csv = {
    .format = "csv",
    .help = "a CSV file of paths and labels, and the JPEG files beside it",
    .holds = {[RUE_RAW] = true},
    .splits = true,
    .label_min = INT32_MIN,
    .open = open_list,
    .add = add,
    .key = key,
    .flush = flush,
    .finish = finish,
    .close = close_list,
};
