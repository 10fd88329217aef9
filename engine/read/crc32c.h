/* CRC-32C (Castagnoli), as RFC 3720 section B.4 defines it: crc32c("123456789") = 0xE3069283. */
#ifndef RUE_CRC32C_H
#define RUE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 at the start) over `bytes` of `data`. Uses the CPU's instruction if there is one. */
uint32_t rue_crc32c(uint32_t crc, const void *data, size_t bytes);

/* The same with a table, for CPUs without the instruction. Public so that tests can compare both. */
uint32_t rue_crc32c_portable(uint32_t crc, const void *data, size_t bytes);

#endif
