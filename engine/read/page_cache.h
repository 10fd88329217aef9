/* The kernel's page cache: what of a file lies in it, and putting a file out of it. */
#ifndef RUE_PAGE_CACHE_H
#define RUE_PAGE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* Sets `*out` to how many of the `bytes` at `offset` lie in memory, by the share of their pages. Reads
 * nothing. False where the kernel does not tell: an old one asked about a file of somebody else's. */
bool rue_page_cache_count(int fd, uint64_t offset, uint64_t bytes, uint64_t *out);

/* Writes what is not on storage yet, and asks the kernel to forget the whole file. What is mapped and
 * touched, and what has no other place than memory, stays: rue_page_cache_count says so afterwards. */
void rue_page_cache_evict(int fd);

#endif
