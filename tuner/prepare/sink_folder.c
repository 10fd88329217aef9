/* The folder format: one file per image, in the folder of its class. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "item_file.h"
#include "sink.h"

struct folder {
    struct rue_item_folder to;
    const struct rue_sink_options *options;
};

static void close_folder(void *state)
{
    struct folder *folder = state;
    if (folder->to.fd >= 0) close(folder->to.fd);
}

static rue_status open_folder(void *state, const char *path, const struct rue_sink_options *options,
                              rue_error *error)
{
    struct folder *folder = state;
    folder->options = options;
    return rue_item_folder_open(&folder->to, path, options, error);
}

/* Makes all folders above `name`. */
static int make_folders(const struct folder *folder, char *name)
{
    for (char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int failed = mkdirat(folder->to.fd, name, 0777) != 0 && errno != EEXIST;
        *slash = '/';
        if (failed) return -1;
    }
    return 0;
}

static rue_status add_to_folder(void *state, const struct rue_item *item, rue_error *error)
{
    struct folder *folder = state;
    char name[PATH_MAX];
    rue_item_file_name(folder->options, item, name, sizeof name);
    if (!rue_item_file_name_is_safe(name))
        return rue_fail(error, RUE_DATA, "'%.200s' cannot name a file: rename the class or the item", name);
    if (make_folders(folder, name) != 0) return rue_item_file_fail(folder->to.path, name, error);
    return rue_item_folder_write(&folder->to, name, item->data, item->bytes, error);
}

static rue_status finish_folder(void *state, rue_error *error)
{
    return rue_item_folder_flush(&((struct folder *)state)->to, error);
}

const struct rue_sink_ops rue_sink_folder = {
    .format = "folder",
    .help = "a folder of images, one folder a class",
    .has_mode = {[RUE_RAW] = true},
    .by_name = true,
    .state_bytes = sizeof(struct folder),
    .open = open_folder,
    .add = add_to_folder,
    .finish = finish_folder,
    .close = close_folder,
};
