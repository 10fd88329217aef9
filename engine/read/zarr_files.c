#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "file_io.h"
#include "zarr_store.h"

int rue_zarr_open_file(int folder_fd, const char *name)
{
    char part[NAME_MAX + 1];
    int above = folder_fd, fd = -1;
    for (const char *slash; above >= 0; name = slash + 1) {
        slash = strchr(name, '/');
        size_t length = slash ? (size_t)(slash - name) : strlen(name);
        bool valid = length > 0 && length < sizeof part;
        snprintf(part, sizeof part, "%.*s", (int)length, name);
        if (!valid || strcmp(part, "..") == 0)
            fd = -1, errno = ENOENT;
        else
            fd = openat(above, part, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
        int why = errno;
        if (above != folder_fd) close(above);
        errno = why;
        above = fd;
        if (!slash) break;
    }
    return fd;
}

rue_status rue_zarr_fail_file(rue_error *error, const char *path, const char *name)
{
    int why = errno;
    if (why == ELOOP)
        return rue_fail(error, RUE_DATA,
                        "%s/%s is a symbolic link, which is not followed: copy what it points to", path,
                        name);
    return rue_fail(error, rue_source_failure(why), "cannot read %s/%s: %s%s", path, name,
                    why ? strerror(why) : "the file ends", rue_advice(why));
}

rue_status rue_zarr_refuse_links(int folder_fd, const char *path, const char *name, const char *previous,
                                 rue_error *error)
{
    char part[PATH_MAX];
    struct stat info;
    size_t same = 0;
    while (name[same] && name[same] == previous[same]) same++;
    for (const char *slash = strchr(name + same, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
        if (fstatat(folder_fd, part, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode))
            return errno = ELOOP, rue_zarr_fail_file(error, path, part);
    }
    return RUE_OK;
}

rue_status rue_zarr_read_file(int folder_fd, const char *path, const char *name, uint64_t most, char **out,
                              size_t *bytes, rue_error *error)
{
    struct stat info;
    *out = NULL;
    int fd = rue_zarr_open_file(folder_fd, name);
    int why = errno;
    if (fd < 0 && rue_zarr_refuse_links(folder_fd, path, name, "", error) != RUE_OK) return RUE_DATA;
    errno = why;
    if (fd < 0) return errno == ENOENT || errno == ENOTDIR ? RUE_OK : rue_zarr_fail_file(error, path, name);
    rue_status status = RUE_OK;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || (uint64_t)info.st_size > most) {
        status = rue_fail(error, RUE_DATA, "%s/%s is not a regular file of at most %" PRIu64 " bytes", path,
                          name, most);
    } else {
        *bytes = (size_t)info.st_size;
        *out = malloc(*bytes + 1);
        if (!*out)
            status = rue_fail_memory(error, "a file", *bytes);
        else if (!rue_read_at(fd, *out, *bytes, 0))
            status = rue_zarr_fail_file(error, path, name);
        else
            (*out)[*bytes] = 0;
    }
    close(fd);
    if (status != RUE_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}
