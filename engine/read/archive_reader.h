/* A file read in order through libarchive: the members of a tar archive, or all of a file as it is without
 * its compression (gzip, bzip2, xz, zstd or lz4, known by its first bytes), in constant memory, or all of it
 * as it is, where the caller knows that it is not compressed. A reader belongs to one thread at a time. */
#ifndef RUE_ARCHIVE_READER_H
#define RUE_ARCHIVE_READER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "source_index.h"

enum rue_archive_kind { RUE_ARCHIVE_TAR, RUE_ARCHIVE_BYTES, RUE_ARCHIVE_PLAIN };

struct rue_archive_reader;

struct rue_archive_member {
    char name[PATH_MAX]; /* without "./" before it and slashes behind it */
    bool regular;        /* a file with content; else a link, a device or a folder */
    bool folder;
    uint64_t header; /* uncompressed byte at which its header begins */
    uint64_t offset; /* of its content */
    uint64_t bytes;
};

/* RUE_DATA names the file that is not of this kind; RUE_MEMORY; otherwise as rue_files_read. */
rue_status rue_archive_reader_open(struct rue_files *files, size_t file, enum rue_archive_kind kind,
                                   struct rue_archive_reader **out, rue_error *error) RUE_MUST_CHECK;
void rue_archive_reader_close(struct rue_archive_reader *reader);

bool rue_archive_reader_is_compressed(const struct rue_archive_reader *reader);

/* The next member of a tar archive, whatever was read of the one before; `*more` is false at the end. The
 * member is borrowed until the next call. RUE_DATA names file and byte where the archive is damaged or cut,
 * for sparse members and for names that are empty or too long. */
rue_status rue_archive_reader_next(struct rue_archive_reader *reader, const struct rue_archive_member **out,
                                   bool *more, rue_error *error) RUE_MUST_CHECK;

/* Reads the next `bytes` of the member, or of the file; fewer only at its end: `*got`. RUE_DATA names file
 * and byte where it is damaged. */
rue_status rue_archive_reader_read(struct rue_archive_reader *reader, void *into, uint64_t bytes,
                                   uint64_t *got, rue_error *error) RUE_MUST_CHECK;

/* Of all but RUE_ARCHIVE_TAR: uncompressed bytes that were read so far. */
uint64_t rue_archive_reader_position(const struct rue_archive_reader *reader);

#endif
