#include "archive_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "files.h"

enum {
    TAR_BLOCK = 512,
    TAR_PIECE_BYTES = 1 << 13, /* headers and small members; the content of larger ones is skipped */
    PIECE_BYTES = 1 << 17,
};

struct rue_archive_reader {
    struct archive *archive;
    struct rue_files *files;
    size_t file;
    uint64_t at;     /* offset of the next piece in the file */
    bool zlib;       /* the file is a zlib stream, which libarchive does not know */
    z_stream stream; /* its input is `packed` [PIECE_BYTES] */
    unsigned char *packed;
    unsigned char *piece; /* [piece_bytes] of the file */
    size_t piece_bytes;
    rue_error failure; /* of the last failed read */
    struct rue_archive_member member;
    uint64_t end;      /* of the member's blocks; the next header begins here */
    uint64_t position; /* uncompressed bytes read so far; not for tar archives */
    bool empty;        /* the file has no bytes */
};

/* ---- callbacks of libarchive ---- */

static uint64_t bytes_left(const struct rue_archive_reader *reader)
{
    return rue_files_identity(reader->files, reader->file).bytes - reader->at;
}

/* Reads up to `room` bytes of the file; -1: `failure` says why. */
static la_ssize_t read_file(struct rue_archive_reader *reader, unsigned char *into, size_t room)
{
    uint64_t left = bytes_left(reader);
    size_t bytes = left < room ? (size_t)left : room;
    if (bytes &&
        rue_files_read(reader->files, reader->file, into, bytes, reader->at, &reader->failure) != RUE_OK) {
        archive_set_error(reader->archive, EIO, "the file cannot be read");
        return -1;
    }
    reader->at += bytes;
    return (la_ssize_t)bytes;
}

/* Decompresses the next piece of one or more zlib streams. */
static la_ssize_t inflate_piece(struct rue_archive_reader *reader)
{
    z_stream *stream = &reader->stream;
    stream->next_out = reader->piece;
    stream->avail_out = (uInt)reader->piece_bytes;
    while (stream->avail_out == reader->piece_bytes) {
        if (!stream->avail_in) {
            la_ssize_t bytes = read_file(reader, reader->packed, PIECE_BYTES);
            if (bytes < 0) return ARCHIVE_FATAL;
            stream->next_in = reader->packed;
            stream->avail_in = (uInt)bytes;
        }
        if (!stream->avail_in && stream->total_in == 0) break; /* the file ends after a stream */
        int code = inflate(stream, Z_NO_FLUSH);
        if (code == Z_STREAM_END) code = inflateReset(stream);
        if (code == Z_OK) continue;
        archive_set_error(reader->archive, EILSEQ, "%s",
                          code == Z_BUF_ERROR ? "the zlib stream is truncated" : zError(code));
        return ARCHIVE_FATAL;
    }
    return (la_ssize_t)(reader->piece_bytes - stream->avail_out);
}

static la_ssize_t read_piece(struct archive *archive, void *context, const void **out)
{
    struct rue_archive_reader *reader = context;
    (void)archive;
    *out = reader->piece;
    if (reader->zlib) return inflate_piece(reader);
    la_ssize_t bytes = read_file(reader, reader->piece, reader->piece_bytes);
    return bytes < 0 ? ARCHIVE_FATAL : bytes;
}

static la_int64_t skip_archive_bytes(struct archive *archive, void *context, la_int64_t requested)
{
    struct rue_archive_reader *reader = context;
    uint64_t left = bytes_left(reader), bytes = (uint64_t)requested < left ? (uint64_t)requested : left;
    (void)archive;
    if (reader->zlib) return 0;
    reader->at += bytes;
    return (la_int64_t)bytes;
}

/* ---- opening ---- */

static rue_status fail_archive(const struct rue_archive_reader *reader, uint64_t at, rue_error *error)
{
    const char *why = archive_error_string(reader->archive);
    if (reader->failure.status != RUE_OK)
        return rue_fail(error, reader->failure.status, "%s", reader->failure.message);
    if (archive_errno(reader->archive) == ENOMEM)
        return rue_fail_memory(error, "reading an archive", PIECE_BYTES);
    return rue_fail(error, RUE_DATA, "%s is damaged or truncated at byte %" PRIu64 " (%s): make it again",
                    rue_files_path(reader->files, reader->file), at, why ? why : "unknown reason");
}

/* The usual two bytes: method deflate, a window of 32 KiB. */
static rue_status begin_zlib(struct rue_archive_reader *reader, rue_error *error)
{
    unsigned char head[2];
    if (bytes_left(reader) < sizeof head) return RUE_OK;
    rue_status status = rue_files_read(reader->files, reader->file, head, sizeof head, 0, error);
    if (status != RUE_OK || head[0] != 0x78 || (head[0] << 8 | head[1]) % 31 != 0) return status;
    reader->packed = malloc(PIECE_BYTES);
    reader->zlib = reader->packed && inflateInit(&reader->stream) == Z_OK;
    return reader->zlib ? RUE_OK : rue_fail_memory(error, "reading a zlib stream", PIECE_BYTES);
}

/* Only compressions that libarchive handles itself; it starts programs for others. */
static int choose_filters(struct archive *archive)
{
    int code = archive_read_support_filter_gzip(archive);
    if (code == ARCHIVE_OK) code = archive_read_support_filter_bzip2(archive);
    if (code == ARCHIVE_OK) code = archive_read_support_filter_xz(archive);
    if (code == ARCHIVE_OK) code = archive_read_support_filter_zstd(archive);
    return code == ARCHIVE_OK ? archive_read_support_filter_lz4(archive) : code;
}

static int choose_formats(struct archive *archive, enum rue_archive_kind kind)
{
    int code = ARCHIVE_OK;
    if (kind != RUE_ARCHIVE_PLAIN) code = choose_filters(archive);
    if (code == ARCHIVE_OK)
        code = kind == RUE_ARCHIVE_TAR ? archive_read_support_format_tar(archive)
                                       : archive_read_support_format_raw(archive);
    return code == ARCHIVE_OK ? archive_read_support_format_empty(archive) : code;
}

static rue_status begin_archive(struct rue_archive_reader *reader, enum rue_archive_kind kind,
                                rue_error *error)
{
    struct archive_entry *entry;
    int code = choose_formats(reader->archive, kind);
    if (code == ARCHIVE_OK)
        code = archive_read_open2(reader->archive, reader, NULL, read_piece, skip_archive_bytes, NULL);
    if (code == ARCHIVE_OK && kind != RUE_ARCHIVE_TAR)
        code = archive_read_next_header(reader->archive, &entry);
    reader->empty = code == ARCHIVE_EOF;
    return code == ARCHIVE_OK || code == ARCHIVE_EOF ? RUE_OK : fail_archive(reader, reader->at, error);
}

rue_status rue_archive_reader_open(struct rue_files *files, size_t file, enum rue_archive_kind kind,
                                   struct rue_archive_reader **out, rue_error *error)
{
    struct rue_archive_reader *reader = calloc(1, sizeof *reader);
    if (!reader) return rue_fail_memory(error, "reading an archive", sizeof *reader);
    reader->files = files;
    reader->file = file;
    reader->piece_bytes = kind == RUE_ARCHIVE_TAR ? TAR_PIECE_BYTES : PIECE_BYTES;
    reader->piece = malloc(reader->piece_bytes);
    reader->archive = archive_read_new();
    rue_status status = reader->piece && reader->archive
                            ? RUE_OK
                            : rue_fail_memory(error, "reading an archive", reader->piece_bytes);
    if (status == RUE_OK && kind == RUE_ARCHIVE_BYTES) status = begin_zlib(reader, error);
    if (status == RUE_OK) status = begin_archive(reader, kind, error);
    if (status == RUE_OK)
        *out = reader;
    else
        rue_archive_reader_close(reader);
    return status;
}

void rue_archive_reader_close(struct rue_archive_reader *reader)
{
    if (!reader) return;
    archive_read_free(reader->archive);
    if (reader->zlib) inflateEnd(&reader->stream);
    free(reader->packed);
    free(reader->piece);
    free(reader);
}

bool rue_archive_reader_is_compressed(const struct rue_archive_reader *reader)
{
    return reader->zlib || archive_filter_code(reader->archive, 0) != ARCHIVE_FILTER_NONE;
}

/* ---- members ---- */

static rue_status fail_member(const struct rue_archive_reader *reader, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s: the tar member at byte %" PRIu64 " %s: make the archive again",
                    rue_files_path(reader->files, reader->file), reader->member.header, why);
}

static rue_status set_member_name(struct rue_archive_reader *reader, const char *name, rue_error *error)
{
    while (name && name[0] == '.' && name[1] == '/') name += 2;
    size_t length = name ? strlen(name) : 0;
    while (length > 0 && name[length - 1] == '/') length--;
    if (length >= sizeof reader->member.name)
        return fail_member(reader, "has a name that is too long", error);
    if (length == 0 && !reader->member.folder) return fail_member(reader, "has no name", error);
    snprintf(reader->member.name, sizeof reader->member.name, "%.*s", (int)length, name ? name : "");
    return RUE_OK;
}

static rue_status set_member(struct rue_archive_reader *reader, struct archive_entry *entry, rue_error *error)
{
    struct rue_archive_member *member = &reader->member;
    bool is_file = archive_entry_filetype(entry) == AE_IFREG;
    member->header = (uint64_t)archive_read_header_position(reader->archive);
    member->offset = (uint64_t)archive_filter_bytes(reader->archive, 0);
    member->bytes = (uint64_t)archive_entry_size(entry);
    member->folder = archive_entry_filetype(entry) == AE_IFDIR;
    member->sparse = archive_entry_sparse_count(entry) > 0;
    member->regular = is_file && !archive_entry_hardlink(entry) && !member->sparse;
    if (member->sparse && archive_read_data_skip(reader->archive) != ARCHIVE_OK)
        return fail_archive(reader, member->header, error);
    if (member->sparse)
        reader->end = (uint64_t)archive_filter_bytes(reader->archive, 0);
    else
        reader->end = (member->offset + member->bytes + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    if (!rue_archive_reader_is_compressed(reader) &&
        reader->end > rue_files_identity(reader->files, reader->file).bytes)
        return fail_member(reader, "is truncated: the file ends within it", error);
    return set_member_name(reader, archive_entry_pathname(entry), error);
}

/* libarchive warns of names outside of the locale's character set, and returns them unchanged. */
rue_status rue_archive_reader_next(struct rue_archive_reader *reader, const struct rue_archive_member **out,
                                   bool *found, rue_error *error)
{
    struct archive_entry *entry;
    int code = archive_read_next_header(reader->archive, &entry);
    *found = code == ARCHIVE_OK || code == ARCHIVE_WARN;
    *out = &reader->member;
    if (*found) return set_member(reader, entry, error);
    if (code != ARCHIVE_EOF) return fail_archive(reader, reader->end, error);
    if (archive_format(reader->archive) == ARCHIVE_FORMAT_EMPTY) return RUE_OK;
    if ((uint64_t)archive_filter_bytes(reader->archive, 0) >= reader->end + TAR_BLOCK) return RUE_OK;
    return rue_fail(error, RUE_DATA,
                    "%s ends at byte %" PRIu64
                    " without a block of zeros: it may be truncated; make it again",
                    rue_files_path(reader->files, reader->file), reader->end);
}

/* ---- bytes ---- */

rue_status rue_archive_reader_read(struct rue_archive_reader *reader, void *into, uint64_t bytes,
                                   uint64_t *read_bytes, rue_error *error)
{
    for (*read_bytes = 0; *read_bytes < bytes && !reader->empty;) {
        la_ssize_t count = archive_read_data(reader->archive, (unsigned char *)into + *read_bytes,
                                             (size_t)(bytes - *read_bytes));
        if (count < 0) return fail_archive(reader, reader->at, error);
        if (count == 0) break;
        *read_bytes += (uint64_t)count;
    }
    reader->position += *read_bytes;
    return RUE_OK;
}

uint64_t rue_archive_reader_position(const struct rue_archive_reader *reader)
{
    return reader->position;
}
