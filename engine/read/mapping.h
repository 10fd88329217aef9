/* A file mapped for reading: its bytes where the page cache holds them, without a copy. */
#ifndef RUE_MAPPING_H
#define RUE_MAPPING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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
void rue_mapping_forget(struct rue_mapping *mapping);

/* `bytes` at `offset`, both within the file when it was opened; NULL with errno, 0 where it has become
 * shorter. What has left memory comes back when it is touched: where storage fails then, or the file is cut
 * between this call and the last touch, the process ends with SIGBUS. Thread-safe. */
const void *rue_mapping_at(const struct rue_mapping *mapping, uint64_t offset, uint64_t bytes);

#endif
