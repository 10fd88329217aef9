#include "write_at.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "advice.h"

rue_status rue_write_at(int fd, const char *path, const void *from, uint64_t bytes, uint64_t offset,
                        rue_error *error)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t put = pwrite(fd, (const char *)from + done, bytes - done, (off_t)(offset + done));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            return rue_fail(error, RUE_STORE, "cannot write %s: %s%s", path, strerror(errno),
                            rue_advice(errno));
        done += (uint64_t)put;
    }
    return RUE_OK;
}

rue_status rue_write_flush(int fd, const char *path, rue_error *error)
{
    if (fdatasync(fd) == 0) return RUE_OK;
    return rue_fail(error, RUE_STORE, "cannot write %s to the disk: %s%s", path, strerror(errno),
                    rue_advice(errno));
}

void rue_write_flush_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}
