/* Reading and writing exact amounts of files, what tells a file from another, what of it lies in the page
 * cache, and its bytes where they lie there. */
#ifndef RUE_FILE_IO_H
#define RUE_FILE_IO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "error.h"

/* Reads exactly `bytes` at `offset`, whatever signals come; false with errno, 0 for the end of the file. */
bool rue_read_at(int fd, void *into, uint64_t bytes, uint64_t offset);

/* Writes all of it; `path` is for messages: RUE_STORE names it, what failed and what to do about it. */
rue_status rue_write_at(int fd, const char *path, const void *from, uint64_t bytes, uint64_t offset,
                        rue_error *error) RUE_MUST_CHECK;

/* What tells a file from another one, or from itself after a change. */
struct rue_file_identity {
    uint64_t bytes, inode;
    int64_t changed_ns, touched_ns; /* its content, and all about it */
};

struct rue_file_identity rue_file_identity_read(const struct stat *about);

/* What became of the file whose identity `was` that, for "it ... since it was opened"; NULL: nothing. */
const char *rue_file_identity_change(const struct rue_file_identity *was, const struct stat *about);

/* Whether what is at `path` is still that file: RUE_DATA names it, and what became of it; otherwise
 * rue_source_failure. */
rue_status rue_file_identity_check(const struct rue_file_identity *was, const char *path,
                                   rue_error *error) RUE_MUST_CHECK;

/* Sets `*out` to how many of the `bytes` at `offset` lie in memory, by the share of their pages. Reads
 * nothing. False where the kernel does not tell: an old one asked about a file of somebody else's. */
bool rue_page_cache_count(int fd, uint64_t offset, uint64_t bytes, uint64_t *out);

/* Writes what is not on storage yet, and asks the kernel to forget the whole file. What is mapped and
 * touched, and what has no other place than memory, stays: rue_page_cache_count says so afterwards. */
void rue_page_cache_evict(int fd);

/* A file mapped for reading: its bytes where the page cache holds them, without a copy. */
struct rue_mapping {
    int fd; /* borrowed */
    uint64_t bytes;
    unsigned char *data; /* NULL: not mapped */
    atomic_bool filled;  /* the page tables */
};

/* Maps the whole file. Where that cannot be had, or where addresses are limited (RLIMIT_AS) and so needed for
 * other things, nothing is mapped. */
void rue_mapping_open(struct rue_mapping *mapping, int fd, uint64_t bytes);
void rue_mapping_close(struct rue_mapping *mapping);

/* Whether the file is mapped and, by samples over all of it, in memory. Takes microseconds, the first time
 * some 20 ms for each gigabyte. False where the file system does not tell. */
bool rue_mapping_in_memory(struct rue_mapping *mapping);

/* Lets go of the pages that were touched, so that the kernel can put them out of memory. While nobody reads.
 */
void rue_mapping_drop_pages(struct rue_mapping *mapping);

/* `bytes` at `offset`, both within the file when it was opened; NULL with errno, 0 where it has become
 * shorter. What has left memory comes back when it is touched: where storage fails then, or the file is cut
 * between this call and the last touch, the process ends with SIGBUS. Thread-safe. */
const void *rue_mapping_at(const struct rue_mapping *mapping, uint64_t offset, uint64_t bytes);

#endif
