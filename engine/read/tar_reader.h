/* A tar archive read in order: ustar, GNU's long names and large sizes, pax' path and size.
 *
 * Refused with RUE_DATA, which names file and byte: headers with a wrong checksum, sizes that are no number,
 * negative or larger than what is left of the file, members that are cut, sparse members and parts of other
 * volumes, names that are empty, absolute, or lead out of a folder by "..", and an end without a block of
 * zeros: tarfile and bsdtar take that, but members may be missing. */
#ifndef RUE_TAR_READER_H
#define RUE_TAR_READER_H

#include <limits.h>

#include "byte_stream.h"

struct rue_tar_reader;

struct rue_tar_member {
    char name[PATH_MAX]; /* without "./", "//" and a slash at its end */
    bool regular;        /* a file with content; else a link, a device or a folder */
    bool folder;
    uint64_t header; /* byte at which its header begins */
    uint64_t offset; /* of its content */
    uint64_t bytes;
};

/* `stream` is borrowed, at its beginning; `file` is what messages call it. RUE_MEMORY. */
rue_status rue_tar_reader_open(struct rue_byte_stream *stream, const char *file, uint64_t file_bytes,
                               struct rue_tar_reader **out, rue_error *error) RUE_MUST_CHECK;
void rue_tar_reader_close(struct rue_tar_reader *reader);

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
