/* A tar archive read in order: ustar, GNU's long names and large sizes, pax' path and size.
 *
 * Refused with RUE_DATA, which names file and byte: headers with a wrong checksum, sizes that are no number,
 * negative or larger than what is left of the file, members that are cut, sparse members and parts of other
 * volumes, names that are empty, absolute, or lead out of a folder by "..", and an end without a block of
 * zeros: tarfile and bsdtar take that, but members may be missing. */
#ifndef RUE_TAR_READER_H
#define RUE_TAR_READER_H

#include <limits.h>
#include <stdint.h>

#include "source_index.h"

enum { RUE_TAR_BLOCK = 512 };

/* A header on storage, one block: POSIX.1-1988 ustar, which GNU and pax build on. */
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

struct rue_tar_reader;

struct rue_tar_member {
    char name[PATH_MAX]; /* without "./", "//" and a slash at its end */
    bool regular;        /* a file with content; else a link, a device or a folder */
    bool folder;
    uint64_t header; /* byte at which its header begins */
    uint64_t offset; /* of its content */
    uint64_t bytes;
};

/* RUE_MEMORY, or as rue_files_read. */
rue_status rue_tar_reader_open(struct rue_files *files, size_t file, struct rue_tar_reader **out,
                               rue_error *error) RUE_MUST_CHECK;
void rue_tar_reader_close(struct rue_tar_reader *reader);

bool rue_tar_reader_is_compressed(const struct rue_tar_reader *reader);

/* The next member, whatever was read of the one before; `*more` is false at the end, where a compressed
 * stream has been read to its own. Borrowed until the next call. */
rue_status rue_tar_reader_next(struct rue_tar_reader *reader, const struct rue_tar_member **out, bool *more,
                               rue_error *error) RUE_MUST_CHECK;

/* The next `bytes` of the member's content, no more than are left. */
rue_status rue_tar_reader_read(struct rue_tar_reader *reader, void *into, uint64_t bytes,
                               rue_error *error) RUE_MUST_CHECK;

/* Whether this is a header with its checksum. */
bool rue_tar_is_header(const void *block);

#endif
