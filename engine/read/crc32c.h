/* CRC-32C (Castagnoli), as RFC 3720 section B.4 defines it: crc32c("123456789") = 0xE3069283. */
#ifndef RUE_CRC32C_H
#define RUE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 at the start) over `bytes` of `data`. Uses the processor's instruction where it has one.
 */
uint32_t rue_crc32c(uint32_t crc, const void *data, size_t bytes);

/* The same from a table, for processors without the instruction; exposed so that both can be tested. */
uint32_t rue_crc32c_portable(uint32_t crc, const void *data, size_t bytes);

#endif
