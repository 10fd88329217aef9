#include "read_at.h"

#include <errno.h>
#include <unistd.h>

bool rue_read_at(int fd, void *into, uint64_t bytes, uint64_t offset)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, (char *)into + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) return errno = 0, false;
        done += (uint64_t)got;
    }
    return true;
}
