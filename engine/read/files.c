#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "array.h"
#include "source.h"

enum { KEPT_MAX = 1024 };

struct file {
    char *path;
    struct rue_file_identity identity;
    atomic_int fd; /* descriptor of a file that stays open; -1: none */
};

struct rue_files {
    struct file *files;
    size_t count, capacity;
    atomic_int slots; /* how many more files may stay open */
    char *folder;     /* folder of items that are files; NULL */
    int folder_fd;
};

/* Other sources, workers' files, sockets and libraries need most descriptors. */
static int max_kept_open(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / 16 > KEPT_MAX) return KEPT_MAX;
    return (int)(limit.rlim_cur / 16);
}

static rue_status make_files(struct rue_files **files, rue_error *error)
{
    if (*files) return RUE_OK;
    *files = calloc(1, sizeof **files);
    if (!*files) return rue_fail_memory(error, "a list of files", sizeof **files);
    (*files)->folder_fd = -1;
    atomic_init(&(*files)->slots, max_kept_open());
    return RUE_OK;
}

rue_status rue_files_add(struct rue_files **files, const char *path, rue_error *error)
{
    struct stat info;
    if (stat(path, &info) != 0) return rue_fail_open(error, path);
    if (!S_ISREG(info.st_mode))
        return rue_fail(error, RUE_DATA, "%s is not a regular file: give a file or a folder", path);
    if (access(path, R_OK) != 0) return rue_fail_open(error, path);
    rue_status status = make_files(files, error);
    if (status != RUE_OK) return status;
    struct rue_files *list = *files;
    status = rue_array_grow(&list->files, &list->capacity, list->count + 1, sizeof *list->files,
                            "a list of files", error);
    if (status != RUE_OK) return status;
    struct file *file = &list->files[list->count];
    *file = (struct file){.path = strdup(path), .identity = rue_file_identity_read(&info)};
    atomic_init(&file->fd, -1);
    if (!file->path) return rue_fail_memory(error, "a list of files", strlen(path));
    list->count++;
    return RUE_OK;
}

rue_status rue_files_set_folder(struct rue_files **files, const char *path, rue_error *error)
{
    rue_status status = make_files(files, error);
    if (status != RUE_OK) return status;
    (*files)->folder = strdup(path);
    if (!(*files)->folder) return rue_fail_memory(error, "a folder's name", strlen(path));
    (*files)->folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if ((*files)->folder_fd >= 0) return RUE_OK;
    return rue_fail(error, rue_source_failure(errno), "cannot read folder %s: %s%s", path, strerror(errno),
                    rue_advice(errno));
}

void rue_files_close(struct rue_files *files)
{
    if (!files) return;
    for (size_t i = 0; i < files->count; i++) {
        if (files->files[i].fd >= 0) close(files->files[i].fd);
        free(files->files[i].path);
    }
    if (files->folder_fd >= 0) close(files->folder_fd);
    free(files->folder);
    free(files->files);
    free(files);
}

size_t rue_files_count(const struct rue_files *files)
{
    return files ? files->count : 0;
}

const char *rue_files_path(const struct rue_files *files, size_t file)
{
    return files->files[file].path;
}

struct rue_file_identity rue_files_identity(const struct rue_files *files, size_t file)
{
    return files->files[file].identity;
}

const char *rue_files_folder(const struct rue_files *files)
{
    return files->folder;
}

int rue_files_folder_fd(const struct rue_files *files)
{
    return files->folder_fd;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

void rue_files_sort(struct rue_files *files)
{
    qsort(files->files, files->count, sizeof *files->files, compare_paths);
}

rue_status rue_files_check(const struct rue_files *files, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < rue_files_count(files); i++)
        status = rue_file_identity_check(&files->files[i].identity, files->files[i].path, error);
    return status;
}

/* O_NONBLOCK: a FIFO at this path does not block. */
static int open_file(int folder_fd, const char *path)
{
    return openat(folder_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* The second of two threads closes its own descriptor. */
static bool keep_file(struct file *file, int fd)
{
    int none = -1;
    return atomic_compare_exchange_strong(&file->fd, &none, fd);
}

int rue_files_keep_open(struct rue_files *files, size_t number)
{
    struct file *file = &files->files[number];
    int fd = file->fd < 0 ? open_file(AT_FDCWD, file->path) : -1;
    if (fd >= 0 && !keep_file(file, fd)) close(fd);
    return file->fd;
}

static rue_status fail_file(const struct file *file, uint64_t offset, rue_status status, const char *why,
                            rue_error *error)
{
    return rue_fail(error, status, "cannot read %s at byte %" PRIu64 ": %s", file->path, offset, why);
}

static rue_status fail_changed(const struct file *file, uint64_t offset, const char *how, rue_error *error)
{
    char why[128];
    snprintf(why, sizeof why, "it %s since it was opened; do not change the data while rue runs", how);
    return fail_file(file, offset, RUE_DATA, why, error);
}

static rue_status read_from(const struct file *file, int fd, void *into, uint64_t bytes, uint64_t offset,
                            rue_error *error)
{
    struct stat info;
    if (fstat(fd, &info) != 0) return rue_fail_open(error, file->path);
    const char *change = rue_file_identity_change(&file->identity, &info);
    if (change) return fail_changed(file, offset, change, error);
    if (rue_read_at(fd, into, bytes, offset)) return RUE_OK;
    return fail_file(file, offset, rue_source_failure(errno), errno ? strerror(errno) : "the file ends",
                     error);
}

rue_status rue_files_read(struct rue_files *files, size_t number, void *into, uint64_t bytes, uint64_t offset,
                          rue_error *error)
{
    struct file *file = &files->files[number];
    int open_fd = file->fd;
    if (open_fd >= 0) return read_from(file, open_fd, into, bytes, offset, error);
    int fd = open_file(AT_FDCWD, file->path);
    if (fd < 0 && errno == ENOENT) return fail_changed(file, offset, "was deleted", error);
    if (fd < 0) return rue_fail_open(error, file->path);
    rue_status status = read_from(file, fd, into, bytes, offset, error);
    if (status == RUE_OK && atomic_fetch_sub(&files->slots, 1) > 0 && keep_file(file, fd)) return RUE_OK;
    if (status == RUE_OK) atomic_fetch_add(&files->slots, 1);
    close(fd);
    return status;
}

static rue_status read_whole(int fd, const char *path, uint64_t bytes, void *into, rue_error *error)
{
    struct stat info;
    if (fstat(fd, &info) == 0 && (!S_ISREG(info.st_mode) || (uint64_t)info.st_size != bytes))
        return rue_fail(error, RUE_DATA,
                        "%s changed since it was indexed: do not change the data while rue runs", path);
    if (rue_read_at(fd, into, bytes, 0)) return RUE_OK;
    return rue_fail(error, rue_source_failure(errno), "cannot read %s: %s", path,
                    errno ? strerror(errno) : "it became shorter");
}

rue_status rue_files_read_whole(const struct rue_files *files, const char *name, uint64_t bytes, void *into,
                                rue_error *error)
{
    char path[2 * PATH_MAX];
    bool below = name[0] != '/';
    snprintf(path, sizeof path, "%s%s%s", below ? files->folder : "", below ? "/" : "", name);
    int fd = open_file(files->folder_fd, name);
    if (fd < 0)
        return rue_fail(error, rue_source_failure(errno), "cannot read %s: %s%s", path, strerror(errno),
                        rue_advice(errno));
    rue_status status = read_whole(fd, path, bytes, into, error);
    close(fd);
    return status;
}

enum rue_image_kind rue_files_image_kind(const char *name)
{
    static const struct {
        const char *ending;
        enum rue_image_kind kind;
    } endings[] = {{"jpg", RUE_IMAGE_JPEG}, {"jpeg", RUE_IMAGE_JPEG}, {"jpe", RUE_IMAGE_JPEG},
                   {"png", RUE_IMAGE_PNG},  {"webp", RUE_IMAGE_WEBP}, {"gif", RUE_IMAGE_GIF},
                   {"bmp", RUE_IMAGE_BMP}};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot + 1, endings[i].ending) == 0) return endings[i].kind;
    return RUE_IMAGE_NONE;
}

void rue_files_copy_name(char *out, const char *name, size_t bytes)
{
    const char *end = name + bytes;
    for (const char *slash; name < end; name = slash + 1) {
        slash = memchr(name, '/', (size_t)(end - name));
        if (!slash) slash = end;
        size_t length = (size_t)(slash - name);
        if (length == 0 || (length == 1 && *name == '.')) continue;
        length += slash < end;
        memcpy(out, name, length);
        out += length;
    }
    *out = 0;
}
