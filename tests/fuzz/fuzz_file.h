/* What the fuzzer gives, as a file of its own that has no place in any folder. */
#ifndef RUE_FUZZ_FILE_H
#define RUE_FUZZ_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The descriptor, to be closed; `path` names the file until then. */
static inline int fuzz_file(const void *data, size_t bytes, char path[64])
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes) abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

#endif
