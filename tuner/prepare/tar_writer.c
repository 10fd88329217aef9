#include "tar_writer.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tar_reader.h"

static const uint64_t size_max = UINT64_C(077777777777); /* what eleven octal digits hold */
static const char zeros[2 * RUE_TAR_BLOCK];

/* Splits a long name at a slash into prefix and name; false where it does not fit. */
static bool split_name(struct rue_tar_header *header, const char *name)
{
    size_t length = strlen(name);
    if (length <= sizeof header->name) return memcpy(header->name, name, length), true;
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t before = (size_t)(slash - name), behind = length - before - 1;
        if (before == 0 || before > sizeof header->prefix || behind > sizeof header->name) continue;
        memcpy(header->prefix, name, before);
        memcpy(header->name, slash + 1, behind);
        return true;
    }
    return false;
}

static void fill_header(struct rue_tar_header *header, char kind, uint64_t bytes)
{
    memcpy(header->mode, "0000644", 8);
    memcpy(header->uid, "0000000", 8);
    memcpy(header->gid, "0000000", 8);
    memcpy(header->mtime, "00000000000", 12);
    memcpy(header->magic, "ustar", 6);
    memcpy(header->version, "00", 2);
    header->kind = kind;
    snprintf(header->size, sizeof header->size, "%011" PRIo64, bytes <= size_max ? bytes : 0);
    snprintf(header->checksum, sizeof header->checksum, "%06o", rue_tar_sum(header));
    header->checksum[7] = ' ';
}

static rue_status put_padding(struct rue_byte_writer *writer, uint64_t bytes, rue_error *error)
{
    return rue_byte_writer_write(writer, zeros, rue_tar_padded(bytes) - bytes, error);
}

/* "<length> <key>=<value>\n", whose length counts its own digits. */
static size_t put_record(char *out, size_t room, const char *key, const char *value)
{
    size_t length = strlen(key) + strlen(value) + 3, digits = 1;
    for (size_t most = 10; length + digits >= most; most *= 10) digits++;
    return (size_t)snprintf(out, room, "%zu %s=%s\n", length + digits, key, value);
}

static rue_status put_pax(struct rue_byte_writer *writer, const char *name, bool named, uint64_t bytes,
                          rue_error *error)
{
    char records[PATH_MAX + 128], size[32];
    size_t length = 0;
    if (!named) length += put_record(records, sizeof records, "path", name);
    snprintf(size, sizeof size, "%" PRIu64, bytes);
    if (bytes > size_max) length += put_record(records + length, sizeof records - length, "size", size);
    struct rue_tar_header header = {.name = "pax"};
    fill_header(&header, 'x', length);
    rue_status status = rue_byte_writer_write(writer, &header, sizeof header, error);
    if (status == RUE_OK) status = rue_byte_writer_write(writer, records, length, error);
    return status == RUE_OK ? put_padding(writer, length, error) : status;
}

rue_status rue_tar_put(struct rue_byte_writer *writer, const char *name, const void *head,
                       uint64_t head_bytes, const void *data, uint64_t bytes, rue_error *error)
{
    struct rue_tar_header header = {0};
    uint64_t all = head_bytes + bytes;
    bool named = split_name(&header, name);
    if (!named) memcpy(header.name, name, sizeof header.name - 1);
    fill_header(&header, '0', all);
    rue_status status = named && all <= size_max ? RUE_OK : put_pax(writer, name, named, all, error);
    if (status == RUE_OK) status = rue_byte_writer_write(writer, &header, sizeof header, error);
    if (status == RUE_OK) status = rue_byte_writer_write(writer, head, head_bytes, error);
    if (status == RUE_OK) status = rue_byte_writer_write(writer, data, bytes, error);
    return status == RUE_OK ? put_padding(writer, all, error) : status;
}

rue_status rue_tar_end(struct rue_byte_writer *writer, rue_error *error)
{
    return rue_byte_writer_write(writer, zeros, sizeof zeros, error);
}
