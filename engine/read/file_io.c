#include "file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "advice.h"
#include "machine.h"
#include "source_index.h"

/* ---- errors ---- */

rue_status rue_source_failure(int error_number)
{
    switch (error_number) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return RUE_INFEASIBLE;
    case EIO:
        return RUE_STORE;
    default:
        return RUE_DATA;
    }
}

rue_status rue_fail_open(rue_error *error, const char *path)
{
    int why = errno;
    return rue_fail(error, rue_source_failure(why), "cannot open %s: %s%s", path, strerror(why),
                    rue_advice(why));
}

/* ---- bytes ---- */

bool rue_read_at(int fd, void *into, uint64_t bytes, uint64_t offset)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t count = pread(fd, (char *)into + done, bytes - done, (off_t)(offset + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        if (count == 0) return errno = 0, false;
        done += (uint64_t)count;
    }
    return true;
}

rue_status rue_write_at(int fd, const char *path, const void *from, uint64_t bytes, uint64_t offset,
                        rue_error *error)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t count = pwrite(fd, (const char *)from + done, bytes - done, (off_t)(offset + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0)
            return rue_fail(error, RUE_STORE, "cannot write %s: %s%s", path, strerror(errno),
                            rue_advice(errno));
        done += (uint64_t)count;
    }
    return RUE_OK;
}

/* ---- identity ---- */

struct rue_file_identity rue_file_identity_read(const struct stat *info)
{
    return (struct rue_file_identity){
        .bytes = (uint64_t)info->st_size,
        .inode = (uint64_t)info->st_ino,
        .changed_ns = info->st_mtim.tv_sec * INT64_C(1000000000) + info->st_mtim.tv_nsec,
        .touched_ns = info->st_ctim.tv_sec * INT64_C(1000000000) + info->st_ctim.tv_nsec,
    };
}

const char *rue_file_identity_change(const struct rue_file_identity *before, const struct stat *info)
{
    const struct rue_file_identity now = rue_file_identity_read(info);
    if (info->st_nlink == 0 || now.inode != before->inode) return "was deleted or replaced";
    return now.bytes != before->bytes || now.changed_ns != before->changed_ns ? "changed" : NULL;
}

rue_status rue_file_identity_check(const struct rue_file_identity *before, const char *path, rue_error *error)
{
    struct stat info;
    const char *change = "was deleted";
    if (stat(path, &info) == 0)
        change = rue_file_identity_change(before, &info);
    else if (errno != ENOENT)
        return rue_fail_open(error, path);
    if (!change) return RUE_OK;
    return rue_fail(error, RUE_DATA, "%s %s since it was opened: do not change the data while rue runs", path,
                    change);
}

/* ---- the page cache ---- */

/* Linux 6.5; older headers do not define it. */
#ifndef SYS_cachestat
#    define SYS_cachestat 451
#endif

struct range {
    uint64_t offset, bytes;
};

/* The struct cachestat of Linux, in pages. */
struct state {
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

static bool call_cachestat(int fd, const struct range *range, uint64_t *pages)
{
    struct state state;
    if (syscall(SYS_cachestat, fd, range, &state, 0) != 0) return false;
    *pages = state.cached;
    return true;
}

/* For files that the process neither owns nor may write, mincore reports all pages as present. */
static bool mincore_is_true(int fd)
{
    struct stat info;
    if (fstat(fd, &info) != 0) return false;
    return info.st_uid == geteuid() || geteuid() == 0;
}

static bool call_mincore(int fd, const struct range *range, uint64_t page, uint64_t *pages)
{
    if (!mincore_is_true(fd)) return false;
    uint64_t start = range->offset / page * page, length = range->offset + range->bytes - start;
    size_t count = (size_t)((length + page - 1) / page);
    unsigned char *resident = malloc(count);
    void *map = resident ? mmap(NULL, length, PROT_READ, MAP_SHARED, fd, (off_t)start) : MAP_FAILED;
    bool counted = map != MAP_FAILED && mincore(map, length, resident) == 0;
    *pages = 0;
    for (size_t i = 0; counted && i < count; i++) *pages += resident[i] & 1;
    if (map != MAP_FAILED) munmap(map, length);
    free(resident);
    return counted;
}

bool rue_page_cache_count(int fd, uint64_t offset, uint64_t bytes, uint64_t *out)
{
    const struct range range = {offset, bytes};
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), pages = 0;
    *out = 0;
    if (bytes == 0) return true;
    if (!call_cachestat(fd, &range, &pages) && !call_mincore(fd, &range, page, &pages)) return false;
    uint64_t span = (offset + bytes + page - 1) / page - offset / page;
    *out = pages >= span ? bytes : (uint64_t)((double)bytes * (double)pages / (double)span);
    return true;
}

/* Flushing may cost a round trip to the disk even if nothing is dirty, so count the remaining pages first. */
void rue_page_cache_evict(int fd)
{
    struct stat info;
    uint64_t left = 1;
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    bool counted = fstat(fd, &info) == 0 && rue_page_cache_count(fd, 0, (uint64_t)info.st_size, &left);
    if (counted && left == 0) return;
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* ---- mappings ---- */

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

/* Whether the byte at `offset` is in the page cache. A trial read makes the kernel read an absent page, so it
 * is only the fallback. */
static bool is_cached(const struct rue_mapping *mapping, uint64_t offset)
{
    char byte;
    uint64_t cached;
    if (rue_page_cache_count(mapping->fd, offset, 1, &cached)) return cached == 1;
    struct iovec one = {&byte, 1};
    return preadv2(mapping->fd, &one, 1, (off_t)offset, RWF_NOWAIT) == 1;
}

bool rue_mapping_in_memory(struct rue_mapping *mapping)
{
    /* A file with holes needs no storage, but it needs memory. */
    if (!mapping->data || mapping->bytes > rue_machine_read().memory_bytes) return false;
    for (uint64_t i = 0; i < SAMPLES; i++)
        if (!is_cached(mapping, mapping->bytes / SAMPLES * i + mapping->bytes / SAMPLES / 2)) return false;
    /* Fills the page tables now, so that the first pass over the data is not slower than the others. */
    if (!atomic_exchange(&mapping->filled, true)) madvise(mapping->data, mapping->bytes, MADV_POPULATE_READ);
    return true;
}

void rue_mapping_drop_pages(struct rue_mapping *mapping)
{
    if (mapping->data) madvise(mapping->data, mapping->bytes, MADV_DONTNEED);
    mapping->filled = false;
}

const void *rue_mapping_at(const struct rue_mapping *mapping, uint64_t offset, uint64_t bytes)
{
    struct stat info; /* asking the kernel to load the pages would take as long as copying them */
    if (fstat(mapping->fd, &info) != 0) return NULL;
    if ((uint64_t)info.st_size < offset + bytes) return errno = 0, NULL;
    return mapping->data + offset;
}
