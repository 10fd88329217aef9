/* Exact reads and writes, identities of files, the page cache, and mapped files. */
#ifndef RUE_FILE_IO_H
#define RUE_FILE_IO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "error.h"

/* Reads exactly `bytes` at `offset`, also when signals arrive. False: errno says why; 0: end of file. */
bool rue_read_at(int fd, void *into, uint64_t bytes, uint64_t offset);

/* Writes all bytes. RUE_STORE: the message names `path`, the reason and what to do. */
rue_status rue_write_at(int fd, const char *path, const void *from, uint64_t bytes, uint64_t offset,
                        rue_error *error) RUE_MUST_CHECK;

/* Distinguishes files, and detects changes of a file. */
struct rue_file_identity {
    uint64_t bytes, inode;
    int64_t changed_ns, touched_ns; /* times of the last change: of the content, of content or attributes */
};

struct rue_file_identity rue_file_identity_read(const struct stat *info);

/* What happened to the file after `before`, for "it ... since it was opened". NULL: nothing. */
const char *rue_file_identity_change(const struct rue_file_identity *before, const struct stat *info);

/* Checks that `path` is the file `before`, unchanged. RUE_DATA: the message says what happened to it. Also
 * the results of rue_source_failure. */
rue_status rue_file_identity_check(const struct rue_file_identity *before, const char *path,
                                   rue_error *error) RUE_MUST_CHECK;

/* Sets `*out` to how many of the `bytes` at `offset` are in memory, estimated from whole pages. Reads
 * nothing. False: the kernel does not report it (old kernels: for files of other users). */
bool rue_page_cache_count(int fd, uint64_t offset, uint64_t bytes, uint64_t *out);

/* Writes dirty pages to storage and asks the kernel to evict the whole file. Mapped pages in use, and files
 * that exist only in memory, are not evicted: see rue_page_cache_count. */
void rue_page_cache_evict(int fd);

/* A file that is mapped for reading, without a copy. */
struct rue_mapping {
    int fd; /* must stay open */
    uint64_t bytes;
    unsigned char *data; /* NULL: not mapped */
    atomic_bool filled;  /* whether the page tables are filled */
};

/* Maps the whole file. `data` is NULL if that fails, or if the address space is limited (RLIMIT_AS) and
 * needed for other memory. */
void rue_mapping_open(struct rue_mapping *mapping, int fd, uint64_t bytes);
void rue_mapping_close(struct rue_mapping *mapping);

/* Whether the file is mapped and in memory, by 64 samples. Takes microseconds; the first time about 20 ms per
 * gigabyte. False if the file system does not report it. */
bool rue_mapping_in_memory(struct rue_mapping *mapping);

/* Releases the pages, so that the kernel can evict them. Call it while no thread reads them. */
void rue_mapping_drop_pages(struct rue_mapping *mapping);

/* Returns `bytes` at `offset`, both within the file when it was opened. NULL: errno says why; 0: the file
 * became shorter. Evicted bytes are read again on access: if storage fails then, or the file is truncated
 * while they are used, the process receives SIGBUS. Thread-safe. */
const void *rue_mapping_at(const struct rue_mapping *mapping, uint64_t offset, uint64_t bytes);

#endif
