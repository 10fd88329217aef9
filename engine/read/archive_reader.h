/* Reads a file in order with libarchive, in constant memory. RUE_ARCHIVE_TAR: the members of a tar archive.
 * RUE_ARCHIVE_BYTES: the whole file, decompressed (gzip, zlib, bzip2, xz, zstd or lz4, detected by its first
 * bytes). RUE_ARCHIVE_PLAIN: the whole file as it is. A reader belongs to one thread at a time. */
#ifndef RUE_ARCHIVE_READER_H
#define RUE_ARCHIVE_READER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "source_index.h"

enum rue_archive_kind { RUE_ARCHIVE_TAR, RUE_ARCHIVE_BYTES, RUE_ARCHIVE_PLAIN };

struct rue_archive_reader;

struct rue_archive_member {
    char name[PATH_MAX]; /* without a leading "./" and trailing slashes */
    bool regular;        /* a file with content; else a link, a device or a folder */
    bool folder;
    bool sparse;     /* a file that is stored without its holes, which is not read; not regular */
    uint64_t header; /* uncompressed offset of its header */
    uint64_t offset; /* uncompressed offset of its content */
    uint64_t bytes;
};

/* RUE_DATA: the file is not of this kind. RUE_MEMORY. Also the errors of rue_files_read. */
rue_status rue_archive_reader_open(struct rue_files *files, size_t file, enum rue_archive_kind kind,
                                   struct rue_archive_reader **out, rue_error *error) RUE_MUST_CHECK;
void rue_archive_reader_close(struct rue_archive_reader *reader);

bool rue_archive_reader_is_compressed(const struct rue_archive_reader *reader);

/* Returns the next member of a tar archive; `*found` is false at the end, also of a file without bytes. The
 * rest of the previous member is skipped. The member is valid until the next call. RUE_DATA: the archive is
 * damaged or truncated, or a name is empty or too long; the message names file and byte. */
rue_status rue_archive_reader_next(struct rue_archive_reader *reader, const struct rue_archive_member **out,
                                   bool *found, rue_error *error) RUE_MUST_CHECK;

/* Reads the next `bytes` of the member or file; `*read_bytes` is smaller only at its end. RUE_DATA: the data
 * are damaged; the message names file and byte. */
rue_status rue_archive_reader_read(struct rue_archive_reader *reader, void *into, uint64_t bytes,
                                   uint64_t *read_bytes, rue_error *error) RUE_MUST_CHECK;

/* Uncompressed bytes read so far; not for RUE_ARCHIVE_TAR. */
uint64_t rue_archive_reader_position(const struct rue_archive_reader *reader);

#endif
