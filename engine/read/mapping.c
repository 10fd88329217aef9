#include "mapping.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "machine.h"
#include "page_cache.h"

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

/* Whether the byte at `offset` can be had without waiting for storage. Trying to read it has the kernel begin
 * to, where it is not there: only where asking does not tell. */
static bool is_cached(const struct rue_mapping *mapping, uint64_t offset)
{
    char byte;
    uint64_t there;
    if (rue_page_cache_count(mapping->fd, offset, 1, &there)) return there == 1;
    struct iovec one = {&byte, 1};
    return preadv2(mapping->fd, &one, 1, (off_t)offset, RWF_NOWAIT) == 1;
}

bool rue_mapping_in_memory(struct rue_mapping *mapping)
{
    /* A file with holes would do without storage, but not without memory. */
    if (!mapping->data || mapping->bytes > rue_machine_read().memory_bytes) return false;
    for (uint64_t i = 0; i < SAMPLES; i++)
        if (!is_cached(mapping, mapping->bytes / SAMPLES * i + mapping->bytes / SAMPLES / 2)) return false;
    /* Filled at once, so that the first pass over the data is like the others. */
    if (!atomic_exchange(&mapping->filled, true)) madvise(mapping->data, mapping->bytes, MADV_POPULATE_READ);
    return true;
}

void rue_mapping_forget(struct rue_mapping *mapping)
{
    if (mapping->data) madvise(mapping->data, mapping->bytes, MADV_DONTNEED);
    mapping->filled = false;
}

const void *rue_mapping_at(const struct rue_mapping *mapping, uint64_t offset, uint64_t bytes)
{
    struct stat about; /* asking the kernel to bring in the bytes would take as long as to copy them */
    if (fstat(mapping->fd, &about) != 0) return NULL;
    if ((uint64_t)about.st_size < offset + bytes) return errno = 0, NULL;
    return mapping->data + offset;
}
