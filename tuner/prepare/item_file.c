#include "item_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "file_io.h"
#include "files.h"

void rue_item_file_name(const struct rue_sink_options *options, const struct rue_item *item, char *out,
                        size_t bytes)
{
    bool classed =
        item->label >= 0 && (size_t)item->label < options->class_count && options->classes[item->label][0];
    const char *class = classed ? options->classes[item->label] : "";
    const char *base = strrchr(item->key, '/') ? strrchr(item->key, '/') + 1 : item->key;
    size_t length = strlen(class);
    bool has_class = !classed || (strncmp(item->key, class, length) == 0 && item->key[length] == '/');
    const char *key = has_class ? item->key : base;
    const char *dot = strrchr(base, '.'), *suffix = rue_files_image_kind(base) ? "" : ".jpg";
    if (options->mode == RUE_PREPROCESSED) suffix = dot && strcmp(dot, ".npy") == 0 ? "" : ".npy";
    snprintf(out, bytes, "%s%s%s%s", has_class ? "" : class, has_class ? "" : "/", key, suffix);
}

bool rue_item_file_name_is_safe(const char *path)
{
    for (const char *part = path;; part++) {
        size_t length = strcspn(part, "/");
        if (length == 0 || part[0] == '.') return false; /* sources skip hidden files */
        part += length;
        if (!*part) return part - path < PATH_MAX / 2;
    }
}

void rue_item_file_npy_header(const struct rue_sink_options *options, char out[RUE_ITEM_FILE_NPY_BYTES])
{
    static const char *const descriptions[RUE_DTYPE_COUNT] = {
        [RUE_FLOAT32] = "<f4", [RUE_UINT8] = "|u1", [RUE_FLOAT16] = "<f2"};
    char text[RUE_ITEM_FILE_NPY_BYTES];
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%u, %u, %u), }",
             descriptions[options->dtype], options->shape[0], options->shape[1], options->shape[2]);
    memcpy(out, "\x93NUMPY\1\0\x76\0", 10);
    snprintf(out + 10, RUE_ITEM_FILE_NPY_BYTES - 10, "%-117s", text);
    out[RUE_ITEM_FILE_NPY_BYTES - 1] = '\n';
}

rue_status rue_item_file_fail(const char *path, const char *name, rue_error *error)
{
    return rue_fail(error, RUE_STORE, "cannot write %s%s%s: %s%s", path, *name ? "/" : "", name,
                    strerror(errno), rue_advice_or(errno, "; write to another folder"));
}

rue_status rue_item_folder_open(struct rue_item_folder *folder, const char *path,
                                const struct rue_sink_options *options, rue_error *error)
{
    snprintf(folder->path, sizeof folder->path, "%s", rue_sink_path(options, path));
    folder->fd = mkdir(path, 0777) == 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    return folder->fd >= 0 ? RUE_OK : rue_item_file_fail(folder->path, "", error);
}

rue_status rue_item_folder_write(const struct rue_item_folder *folder, const char *name, const void *data,
                                 size_t bytes, rue_error *error)
{
    char path[2 * PATH_MAX];
    int fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST)
        return rue_fail(error, RUE_DATA, "two images have the name %s/%s: rename one of them", folder->path,
                        name);
    if (fd < 0) return rue_item_file_fail(folder->path, name, error);
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    rue_status status = rue_write_at(fd, path, data, bytes, 0, error);
    if (close(fd) != 0 && status == RUE_OK) status = rue_item_file_fail(folder->path, name, error);
    return status;
}

rue_status rue_item_folder_flush(const struct rue_item_folder *folder, rue_error *error)
{
    return syncfs(folder->fd) == 0 ? RUE_OK : rue_item_file_fail(folder->path, "", error);
}
