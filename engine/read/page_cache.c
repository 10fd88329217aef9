#include "page_cache.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 6.5; older headers do not know it. */
#ifndef SYS_cachestat
#    define SYS_cachestat 451
#endif

struct range {
    uint64_t offset, bytes;
};

/* In pages. */
struct state {
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

static bool ask_cachestat(int fd, const struct range *range, uint64_t *pages)
{
    struct state state;
    if (syscall(SYS_cachestat, fd, range, &state, 0) != 0) return false;
    *pages = state.cached;
    return true;
}

/* mincore says of files that the process may not write, and are not its own, that all of them is there. */
static bool mincore_is_true(int fd)
{
    struct stat about;
    if (fstat(fd, &about) != 0) return false;
    return about.st_uid == geteuid() || geteuid() == 0;
}

static bool ask_mincore(int fd, const struct range *range, uint64_t page, uint64_t *pages)
{
    if (!mincore_is_true(fd)) return false;
    uint64_t start = range->offset / page * page, length = range->offset + range->bytes - start;
    size_t count = (size_t)((length + page - 1) / page);
    unsigned char *there = malloc(count);
    void *map = there ? mmap(NULL, length, PROT_READ, MAP_SHARED, fd, (off_t)start) : MAP_FAILED;
    bool told = map != MAP_FAILED && mincore(map, length, there) == 0;
    *pages = 0;
    for (size_t i = 0; told && i < count; i++) *pages += there[i] & 1;
    if (map != MAP_FAILED) munmap(map, length);
    free(there);
    return told;
}

bool rue_page_cache_count(int fd, uint64_t offset, uint64_t bytes, uint64_t *out)
{
    const struct range range = {offset, bytes};
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), pages = 0;
    *out = 0;
    if (bytes == 0) return true;
    if (!ask_cachestat(fd, &range, &pages) && !ask_mincore(fd, &range, page, &pages)) return false;
    uint64_t span = (offset + bytes + page - 1) / page - offset / page;
    *out = pages >= span ? bytes : (uint64_t)((double)bytes * (double)pages / (double)span);
    return true;
}

/* Flushing a file that is on storage already may cost a round trip to the disk, so what stays comes first. */
void rue_page_cache_evict(int fd)
{
    struct stat about;
    uint64_t left = 1;
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    bool told = fstat(fd, &about) == 0 && rue_page_cache_count(fd, 0, (uint64_t)about.st_size, &left);
    if (told && left == 0) return;
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}
