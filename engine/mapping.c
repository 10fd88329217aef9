#include "mapping.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAMPLES = 64 };

static bool addresses_are_limited(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

void rue_mapping_open(struct rue_mapping *mapping, int fd, uint64_t bytes)
{
    *mapping = (struct rue_mapping){.fd = fd, .bytes = bytes};
    if (addresses_are_limited()) return;
    void *data = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (data != MAP_FAILED) mapping->data = data;
}

void rue_mapping_close(struct rue_mapping *mapping)
{
    if (mapping->data) munmap(mapping->data, mapping->bytes);
    mapping->data = NULL;
}

bool rue_mapping_in_memory(struct rue_mapping *mapping)
{
    if (!mapping->data) return false;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), pages = (mapping->bytes + page - 1) / page;
    uint64_t samples = pages < SAMPLES ? pages : SAMPLES;
    for (uint64_t i = 0; i < samples; i++) {
        unsigned char resident;
        void *sample = mapping->data + pages * i / samples * page;
        if (mincore(sample, page, &resident) != 0 || !(resident & 1)) return false;
    }
    if (atomic_load(&mapping->ready)) return true;
    /* An older kernel does not know it: then the first touch of each page costs a little more. */
    if (madvise(mapping->data, mapping->bytes, MADV_POPULATE_READ) != 0 && errno != EINVAL) return false;
    atomic_store(&mapping->ready, true);
    return true;
}

const void *rue_mapping_at(const struct rue_mapping *mapping, uint64_t offset, uint64_t bytes)
{
    struct stat about;
    if (fstat(mapping->fd, &about) != 0) return NULL;
    if ((uint64_t)about.st_size < offset + bytes) return errno = 0, NULL;
    return mapping->data + offset;
}
