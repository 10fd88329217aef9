#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "read_at.h"
#include "source_failure.h"

static rue_status read_open(int fd, const char *path, uint64_t bytes, void *into, rue_error *error)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return rue_fail(error, rue_source_failure(errno), "cannot read %s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode) || (uint64_t)about.st_size != bytes)
        return rue_fail(error, RUE_DATA,
                        "%s changed since it was indexed: leave the data alone while rue runs", path);
    if (rue_read_at(fd, into, bytes, 0)) return RUE_OK;
    return rue_fail(error, rue_source_failure(errno), "cannot read %s: %s", path,
                    errno ? strerror(errno) : "it became shorter");
}

/* O_NONBLOCK keeps a FIFO in its place from blocking. */
rue_status rue_whole_file_read(int folder_fd, const char *folder, const char *name, uint64_t bytes,
                               void *into, rue_error *error)
{
    char path[2 * PATH_MAX];
    bool below = name[0] != '/';
    snprintf(path, sizeof path, "%s%s%s", below ? folder : "", below ? "/" : "", name);
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return rue_fail(error, rue_source_failure(errno), "cannot read %s: %s%s", path, strerror(errno),
                        rue_advice(errno));
    rue_status status = read_open(fd, path, bytes, into, error);
    close(fd);
    return status;
}
