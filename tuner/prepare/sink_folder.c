/* The folder format: one file per image, in the folder of its class. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "file_io.h"
#include "item_file.h"
#include "part.h"

#include "sink.h"

struct folder {
    const struct rue_sink_options *options;
    char path[PATH_MAX];
    int fd;
};

static void close_folder(void *state)
{
    struct folder *folder = state;
    if (folder->fd >= 0) close(folder->fd);
}

static rue_status fail_folder(const struct folder *folder, const char *name, rue_error *error)
{
    return rue_fail(error, RUE_STORE, "cannot write %s%s%s: %s%s", folder->path, *name ? "/" : "", name,
                    strerror(errno), rue_advice_or(errno, "; write to another folder"));
}

static rue_status open_folder(void *state, const char *path, const struct rue_sink_options *options,
                              rue_error *error)
{
    struct folder *folder = state;
    folder->options = options;
    snprintf(folder->path, sizeof folder->path, "%s", rue_sink_path(options, path));
    folder->fd = mkdir(path, 0777) == 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    return folder->fd >= 0 ? RUE_OK : fail_folder(folder, "", error);
}

/* Makes all folders above `name`. */
static int make_folders(const struct folder *folder, char *name)
{
    for (char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int failed = mkdirat(folder->fd, name, 0777) != 0 && errno != EEXIST;
        *slash = '/';
        if (failed) return -1;
    }
    return 0;
}

static rue_status add_to_folder(void *state, const struct rue_item *item, rue_error *error)
{
    struct folder *folder = state;
    char name[PATH_MAX], path[2 * PATH_MAX];
    rue_item_file_name(folder->options, item, name, sizeof name);
    if (!rue_item_file_name_is_safe(name))
        return rue_fail(error, RUE_DATA, "'%.200s' cannot name a file: rename the class or the item", name);
    if (make_folders(folder, name) != 0) return fail_folder(folder, name, error);
    int fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST)
        return rue_fail(error, RUE_DATA, "two images have the name %s/%s: rename one of them", folder->path,
                        name);
    if (fd < 0) return fail_folder(folder, name, error);
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    rue_status status = rue_write_at(fd, path, item->data, item->bytes, 0, error);
    if (close(fd) != 0 && status == RUE_OK) status = fail_folder(folder, name, error);
    return status;
}

/* One call flushes all files. */
static rue_status finish_folder(void *state, rue_error *error)
{
    struct folder *folder = state;
    return syncfs(folder->fd) == 0 ? RUE_OK : fail_folder(folder, "", error);
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
