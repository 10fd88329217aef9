#include "byte_stream.h"

#include <criterion/criterion.h>

#include "byte_writer.h"
#include "files.h"
#include "temporary_folder.h"

TestSuite(byte_stream, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

enum { BYTES = 700001 };

struct memory {
    unsigned char *data;
    size_t bytes;
};

static struct rue_byte_stream *open_memory(struct memory *memory)
{
    static struct rue_files *files;
    struct rue_byte_stream *stream = NULL;
    rue_files_close(files);
    files = NULL;
    temporary_file("copy", memory->data, memory->bytes);
    cr_assert_eq(rue_files_add(&files, temporary_path("copy"), NULL), RUE_OK);
    cr_assert_eq(rue_byte_stream_open(files, 0, &stream, NULL), RUE_OK);
    return stream;
}

/* Half noise, half what can be compressed. */
static unsigned char byte_at(uint64_t place)
{
    uint64_t mixed = place * UINT64_C(0x9E3779B97F4A7C15);
    return place % 2000 < 1000 ? (unsigned char)(mixed >> 56) : (unsigned char)(place / 2000);
}

static struct memory make(enum rue_compression how)
{
    struct rue_byte_writer *writer;
    struct memory out;
    unsigned char *data = malloc(BYTES);
    for (uint64_t i = 0; i < BYTES; i++) data[i] = byte_at(i);
    cr_assert_eq(rue_byte_writer_open(temporary_path("file"), how, &writer, NULL), RUE_OK);
    for (uint64_t at = 0, piece = 1; at < BYTES; at += piece, piece = piece * 3 + 1) {
        if (piece > BYTES - at) piece = BYTES - at;
        cr_assert_eq(rue_byte_writer_write(writer, data + at, piece, NULL), RUE_OK);
    }
    cr_assert_eq(rue_byte_writer_position(writer), BYTES);
    cr_assert_eq(rue_byte_writer_finish(writer, NULL), RUE_OK);
    rue_byte_writer_close(writer);
    free(data);
    out.data = temporary_read("file", &out.bytes);
    return out;
}

static rue_status read_all(struct rue_byte_stream *stream, uint64_t *got, rue_error *error)
{
    unsigned char *data = malloc(3 * BYTES);
    rue_status status = rue_byte_stream_read(stream, data, 3 * BYTES, got, error);
    for (uint64_t i = 0; status == RUE_OK && i < *got; i++) cr_assert_eq(data[i], byte_at(i % BYTES));
    free(data);
    return status;
}

Test(byte_stream, what_was_written_is_read_in_pieces_and_with_gaps)
{
    for (int how = 0; how < RUE_COMPRESSION_COUNT; how++) {
        struct memory file = make((enum rue_compression)how);
        struct rue_byte_stream *stream = open_memory(&file);
        unsigned char piece[20000];
        uint64_t got, at = 0;
        cr_assert_eq(rue_byte_stream_compression(stream), how);
        for (uint64_t bytes = 1; at + bytes < BYTES; bytes = (bytes * 7 + 3) % sizeof piece) {
            bool skips = bytes % 3 == 0;
            rue_status status = skips ? rue_byte_stream_skip(stream, bytes, &got, NULL)
                                      : rue_byte_stream_read(stream, piece, bytes, &got, NULL);
            cr_assert(status == RUE_OK && got == bytes);
            for (uint64_t i = 0; !skips && i < bytes; i++) cr_assert_eq(piece[i], byte_at(at + i));
            cr_assert_eq(rue_byte_stream_position(stream), at += bytes);
        }
        cr_assert_eq(rue_byte_stream_skip(stream, UINT64_MAX, &got, NULL), RUE_OK);
        cr_assert_eq(at + got, BYTES);
        rue_byte_stream_close(stream);
        free(file.data);
    }
}

Test(byte_stream, what_is_compressed_is_known_behind_frames_to_be_skipped)
{
    static const unsigned char frames[] = "\x50\x2a\x4d\x18\x04\0\0\0abcd\x5f\x2a\x4d\x18\0\0\0\0";
    enum { SKIPPED = sizeof frames - 1 };
    for (int how = RUE_COMPRESS_ZSTD; how < RUE_COMPRESSION_COUNT; how++) {
        struct memory plain = make((enum rue_compression)how);
        struct memory file = {malloc(SKIPPED + plain.bytes), SKIPPED + plain.bytes};
        uint64_t got;
        memcpy(file.data, frames, SKIPPED);
        memcpy(file.data + SKIPPED, plain.data, plain.bytes);
        struct rue_byte_stream *stream = open_memory(&file);
        cr_assert_eq(rue_byte_stream_compression(stream), how);
        cr_assert_eq(read_all(stream, &got, NULL), RUE_OK);
        cr_assert_eq(got, BYTES);
        rue_byte_stream_close(stream);
        for (file.bytes = 0; file.bytes <= SKIPPED; file.bytes++) {
            stream = open_memory(&file);
            cr_assert_eq(rue_byte_stream_compression(stream), RUE_COMPRESS_NONE, "%zu bytes", file.bytes);
            rue_byte_stream_close(stream);
        }
        free(plain.data);
        free(file.data);
    }
}

Test(byte_stream, one_stream_behind_another_is_one)
{
    for (int how = RUE_COMPRESS_GZIP; how < RUE_COMPRESSION_COUNT; how++) {
        struct memory file = make((enum rue_compression)how);
        uint64_t got;
        file.data = realloc(file.data, 2 * file.bytes);
        memcpy(file.data + file.bytes, file.data, file.bytes);
        file.bytes *= 2;
        struct rue_byte_stream *stream = open_memory(&file);
        cr_assert_eq(read_all(stream, &got, NULL), RUE_OK);
        cr_assert_eq(got, 2 * BYTES);
        rue_byte_stream_close(stream);
        free(file.data);
    }
}

Test(byte_stream, every_cut_and_every_damage_of_the_data_is_an_error_that_names_file_and_byte)
{
    for (int how = RUE_COMPRESS_GZIP; how < RUE_COMPRESSION_COUNT; how++) {
        struct memory whole = make((enum rue_compression)how);
        for (int part = 1; part < 16; part++) {
            struct memory file = {whole.data, whole.bytes * (size_t)part / 16};
            for (int damaged = 0; damaged < 2; damaged++) {
                rue_error error = {0};
                uint64_t got;
                if (damaged) file.bytes = whole.bytes, whole.data[whole.bytes * (size_t)part / 16] ^= 0x55;
                struct rue_byte_stream *stream = open_memory(&file);
                cr_assert_eq(read_all(stream, &got, &error), RUE_DATA, "%s, part %d of 16, %d",
                             rue_compression_names[how], part, damaged);
                cr_assert(strstr(error.message, "/copy: its ") && strstr(error.message, "at byte "));
                rue_byte_stream_close(stream);
                if (damaged) whole.data[whole.bytes * (size_t)part / 16] ^= 0x55;
            }
        }
        free(whole.data);
    }
}
