#include "tar_reader.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byte_stream.h"
#include "files.h"

enum { PAX_BYTES_MAX = 1 << 20 };

/* What headers before a member say of it. */
struct override {
    bool named, sized;
    char name[PATH_MAX];
    uint64_t bytes;
};

struct rue_tar_reader {
    struct rue_byte_stream *stream;
    const char *file;
    uint64_t file_bytes; /* 0: not known, as it is compressed */
    struct rue_tar_member member;
    struct override override;
    uint64_t left; /* of the member's content and padding */
    bool any;      /* a member was read */
};

rue_status rue_tar_reader_open(struct rue_files *files, size_t file, struct rue_tar_reader **out,
                               rue_error *error)
{
    struct rue_tar_reader *reader = calloc(1, sizeof *reader);
    if (!reader) return rue_fail_memory(error, "reading a tar file", sizeof *reader);
    rue_status status = rue_byte_stream_open(files, file, &reader->stream, error);
    if (status != RUE_OK) return free(reader), status;
    reader->file = rue_files_path(files, file);
    if (!rue_tar_reader_is_compressed(reader)) reader->file_bytes = rue_files_identity(files, file).bytes;
    *out = reader;
    return RUE_OK;
}

void rue_tar_reader_close(struct rue_tar_reader *reader)
{
    rue_byte_stream_close(reader->stream);
    free(reader);
}

bool rue_tar_reader_is_compressed(const struct rue_tar_reader *reader)
{
    return rue_byte_stream_compression(reader->stream) != RUE_COMPRESS_NONE;
}

static rue_status refuse(const struct rue_tar_reader *reader, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s: the tar member at byte %" PRIu64 " %s: make the archive again",
                    reader->file, reader->member.header, why);
}

/* ---- headers ---- */

static bool sum_is_right(const struct rue_tar_header *header)
{
    char text[sizeof header->checksum + 1] = "", *end;
    memcpy(text, header->checksum, sizeof header->checksum);
    unsigned long told = strtoul(text, &end, 8);
    while (*end == ' ') end++;
    return end != text && !*end && told == rue_tar_sum(header);
}

bool rue_tar_is_header(const void *block)
{
    return *(const char *)block && sum_is_right(block);
}

/* Octal digits between blanks, or GNU's base 256. NULL, or what is wrong. */
static const char *read_size(const char field[12], uint64_t *out)
{
    *out = 0;
    if (field[0] & 0x80) {
        if ((unsigned char)field[0] != 0x80) return "has a negative size";
        for (int i = 1; i < 12; i++) {
            if (*out >> 55) return "has an impossible size";
            *out = *out << 8 | (unsigned char)field[i];
        }
        return NULL;
    }
    int i = 0;
    while (i < 12 && field[i] == ' ') i++;
    if (i < 12 && field[i] == '-') return "has a negative size";
    for (; i < 12 && field[i] >= '0' && field[i] <= '7'; i++) *out = *out << 3 | (uint64_t)(field[i] - '0');
    for (; i < 12; i++)
        if (field[i] && field[i] != ' ') return "has a size that is no number";
    return NULL;
}

/* Leaves out what means nothing in a path. NULL, or what is wrong with it. */
static const char *clean_name(const char *name, char *out)
{
    if (*name == '/') return "has an absolute name, which leads out of its folder";
    char *at = out;
    while (*name) {
        size_t length = strcspn(name, "/");
        if (length == 2 && name[0] == '.' && name[1] == '.')
            return "has a name with .., which leads out of its folder";
        if (length && !(length == 1 && *name == '.')) {
            if (at != out) *at++ = '/';
            memcpy(at, name, length);
            at += length;
        }
        name += length;
        while (*name == '/') name++;
    }
    *at = 0;
    return NULL;
}

static void header_name(const struct rue_tar_header *header, char out[PATH_MAX])
{
    bool prefixed = memcmp(header->magic, "ustar", 6) == 0 && header->prefix[0];
    snprintf(out, PATH_MAX, "%.*s%s%.*s", prefixed ? (int)sizeof header->prefix : 0, header->prefix,
             prefixed ? "/" : "", (int)sizeof header->name, header->name);
}

/* ---- content ---- */

static rue_status read_whole(struct rue_tar_reader *reader, void *into, uint64_t bytes, rue_error *error)
{
    uint64_t got;
    rue_status status = rue_byte_stream_read(reader->stream, into, bytes, &got, error);
    if (status == RUE_OK && got < bytes) return refuse(reader, "is cut: the file ends within it", error);
    return status;
}

rue_status rue_tar_reader_read(struct rue_tar_reader *reader, void *into, uint64_t bytes, rue_error *error)
{
    rue_status status = read_whole(reader, into, bytes, error);
    reader->left -= bytes;
    return status;
}

/* Passes over what is left of the member. */
static rue_status pass(struct rue_tar_reader *reader, rue_error *error)
{
    uint64_t got;
    rue_status status = rue_byte_stream_skip(reader->stream, reader->left, &got, error);
    if (status == RUE_OK && got < reader->left)
        return refuse(reader, "is cut: the file ends within it", error);
    reader->left = 0;
    return status;
}

/* ---- what comes before members ---- */

static rue_status read_text(struct rue_tar_reader *reader, uint64_t bytes, uint64_t most, char **out,
                            rue_error *error)
{
    if (bytes > most) return refuse(reader, "has a name or header that is too long", error);
    char *text = malloc(bytes + 1);
    if (!text) return rue_fail_memory(error, "a tar header", bytes);
    text[bytes] = 0;
    rue_status status = rue_tar_reader_read(reader, text, bytes, error);
    if (status != RUE_OK) return free(text), status;
    *out = text;
    return RUE_OK;
}

static rue_status take_name(struct rue_tar_reader *reader, const char *name, size_t length, rue_error *error)
{
    if (length == 0 || length >= PATH_MAX || memchr(name, 0, length))
        return refuse(reader, "has a name of a length or with a byte that no file can have", error);
    memcpy(reader->override.name, name, length);
    reader->override.name[length] = 0;
    reader->override.named = true;
    return RUE_OK;
}

static bool is_key(const char *key, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(key, word, length) == 0;
}

static rue_status take_record(struct rue_tar_reader *reader, const char *key, size_t key_length,
                              const char *value, size_t length, rue_error *error)
{
    static const char sparse[] = "GNU.sparse.";
    if (key_length >= strlen(sparse) && memcmp(key, sparse, strlen(sparse)) == 0)
        return refuse(reader, "is sparse, which this reader does not expand", error);
    if (is_key(key, key_length, "path")) return take_name(reader, value, length, error);
    if (!is_key(key, key_length, "size")) return RUE_OK;
    uint64_t bytes = 0;
    if (length == 0 || length > 18) return refuse(reader, "has an impossible size", error);
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)value[i]))
            return refuse(reader, value[0] == '-' ? "has a negative size" : "has a size that is no number",
                          error);
        bytes = bytes * 10 + (uint64_t)(value[i] - '0');
    }
    reader->override.bytes = bytes;
    reader->override.sized = true;
    return RUE_OK;
}

/* Records "<length> <key>=<value>\n". */
static rue_status take_records(struct rue_tar_reader *reader, const char *text, size_t bytes,
                               rue_error *error)
{
    rue_status status = RUE_OK;
    for (const char *at = text, *end = text + bytes; status == RUE_OK && at < end && *at;) {
        char *key;
        unsigned long length = isdigit((unsigned char)*at) ? strtoul(at, &key, 10) : 0;
        if (length == 0 || length > (unsigned long)(end - at) || *key != ' ' || at[length - 1] != '\n')
            return refuse(reader, "has a pax header that is damaged", error);
        const char *stop = at + length - 1;
        const char *equals = ++key <= stop ? memchr(key, '=', (size_t)(stop - key)) : NULL;
        if (!equals) return refuse(reader, "has a pax header that is damaged", error);
        status =
            take_record(reader, key, (size_t)(equals - key), equals + 1, (size_t)(stop - equals) - 1, error);
        at += length;
    }
    return status;
}

static rue_status take_pax(struct rue_tar_reader *reader, uint64_t bytes, rue_error *error)
{
    char *text = NULL;
    rue_status status = read_text(reader, bytes, PAX_BYTES_MAX, &text, error);
    if (status != RUE_OK) return status;
    status = take_records(reader, text, bytes, error);
    free(text);
    return status;
}

static rue_status take_long_name(struct rue_tar_reader *reader, uint64_t bytes, rue_error *error)
{
    char *text = NULL;
    rue_status status = read_text(reader, bytes, PATH_MAX, &text, error);
    if (status != RUE_OK) return status;
    status = take_name(reader, text, strlen(text), error);
    free(text);
    return status;
}

static rue_status take_nothing(struct rue_tar_reader *reader, uint64_t bytes, rue_error *error)
{
    (void)reader, (void)bytes, (void)error;
    return RUE_OK;
}

static rue_status take_sparse(struct rue_tar_reader *reader, uint64_t bytes, rue_error *error)
{
    (void)bytes;
    return refuse(reader, "is sparse, or part of another volume, which this reader does not expand", error);
}

static const struct {
    char kind;
    rue_status (*take)(struct rue_tar_reader *reader, uint64_t bytes, rue_error *error);
} extras[] = {{'x', take_pax},     {'X', take_pax},    {'g', take_nothing}, {'L', take_long_name},
              {'K', take_nothing}, {'S', take_sparse}, {'M', take_sparse}};

/* ---- members ---- */

static rue_status begin_member(struct rue_tar_reader *reader, const struct rue_tar_header *header,
                               rue_error *error)
{
    struct rue_tar_member *member = &reader->member;
    struct override *override = &reader->override;
    char name[PATH_MAX];
    header_name(header, name);
    const char *whole = override->named ? override->name : name;
    size_t length = strlen(whole);
    bool slashed = length && whole[length - 1] == '/';
    const char *wrong = clean_name(whole, member->name);
    if (wrong) return refuse(reader, wrong, error);
    bool file = header->kind == '0' || header->kind == '7' || !header->kind;
    member->folder = header->kind == '5' || (!header->kind && slashed);
    member->regular = file && !member->folder;
    if (!member->name[0] && !member->folder) return refuse(reader, "has no name", error);
    *override = (struct override){0};
    reader->any = true;
    return RUE_OK;
}

/* Size and place of what follows the header. Links have none, whatever they say. */
static rue_status measure(struct rue_tar_reader *reader, const struct rue_tar_header *header, bool extra,
                          rue_error *error)
{
    struct rue_tar_member *member = &reader->member;
    const char *wrong = read_size(header->size, &member->bytes);
    if (wrong) return refuse(reader, wrong, error);
    if (!extra && reader->override.sized) member->bytes = reader->override.bytes;
    if (strchr("123456", header->kind) && header->kind) member->bytes = 0;
    member->offset = rue_byte_stream_position(reader->stream);
    if (member->bytes > INT64_MAX - RUE_TAR_BLOCK) return refuse(reader, "has an impossible size", error);
    reader->left = rue_tar_padded(member->bytes);
    if (reader->file_bytes && reader->left > reader->file_bytes - member->offset)
        return refuse(reader, "is cut: the file ends within it", error);
    return RUE_OK;
}

/* Reads a header; false in `*more` at the end. */
static rue_status read_header(struct rue_tar_reader *reader, struct rue_tar_header *header, bool *more,
                              rue_error *error)
{
    uint64_t got;
    reader->member.header = rue_byte_stream_position(reader->stream);
    rue_status status = rue_byte_stream_read(reader->stream, header, sizeof *header, &got, error);
    if (status != RUE_OK) return status;
    const char *bytes = (const char *)header;
    bool zeros = got == sizeof *header && !bytes[0] && memcmp(bytes, bytes + 1, sizeof *header - 1) == 0;
    *more = got > 0 && !zeros;
    if (got == 0 && !reader->any) return refuse(reader, "is missing: the file is empty", error);
    if (got > 0 && got < sizeof *header) return refuse(reader, "has a header that is cut", error);
    if (*more && !sum_is_right(header)) return refuse(reader, "has a header with a wrong checksum", error);
    if (*more) return RUE_OK;
    if (reader->override.named || reader->override.sized)
        return refuse(reader, "is missing: the archive ends after its name", error);
    if (got == 0) return refuse(reader, "is missing, or the block that ends the archive: was it cut?", error);
    return rue_byte_stream_skip(reader->stream, UINT64_MAX, &got, error);
}

rue_status rue_tar_reader_next(struct rue_tar_reader *reader, const struct rue_tar_member **out, bool *more,
                               rue_error *error)
{
    for (;;) {
        struct rue_tar_header header;
        rue_status status = pass(reader, error);
        if (status == RUE_OK) status = read_header(reader, &header, more, error);
        if (status != RUE_OK || !*more) return status;
        size_t e = 0;
        while (e < sizeof extras / sizeof *extras && extras[e].kind != header.kind) e++;
        bool extra = e < sizeof extras / sizeof *extras;
        status = measure(reader, &header, extra, error);
        if (status == RUE_OK)
            status = extra ? extras[e].take(reader, reader->member.bytes, error)
                           : begin_member(reader, &header, error);
        if (status != RUE_OK) return status;
        if (!extra) return *out = &reader->member, RUE_OK;
    }
}
