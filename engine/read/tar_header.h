/* A tar header on storage, one block: POSIX.1-1988 ustar, which GNU and pax build on. */
#ifndef RUE_TAR_HEADER_H
#define RUE_TAR_HEADER_H

#include <stdint.h>

enum { RUE_TAR_BLOCK = 512 };

struct rue_tar_header {
    char name[100];
    char mode[8], uid[8], gid[8]; /* octal digits */
    char size[12], mtime[12];
    char checksum[8]; /* the sum of all bytes, with blanks for these */
    char kind;
    char link[100];
    char magic[6], version[2]; /* "ustar", "00"; GNU: "ustar ", " " */
    char user[32], group[32];
    char major[8], minor[8];
    char prefix[155]; /* of the name, before a slash; of ustar alone */
    char padding[12];
};
_Static_assert(sizeof(struct rue_tar_header) == RUE_TAR_BLOCK, "a tar header is one block");

/* Bytes of data with what fills their last block. */
static inline uint64_t rue_tar_padded(uint64_t bytes)
{
    return (bytes + RUE_TAR_BLOCK - 1) / RUE_TAR_BLOCK * RUE_TAR_BLOCK;
}

static inline unsigned rue_tar_sum(const struct rue_tar_header *header)
{
    const unsigned char *bytes = (const unsigned char *)header;
    unsigned sum = 0;
    for (unsigned i = 0; i < RUE_TAR_BLOCK; i++) sum += i - 148 < 8 ? ' ' : bytes[i];
    return sum;
}

#endif
