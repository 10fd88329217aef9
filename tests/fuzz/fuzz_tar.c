/* A tar file, plain or compressed, and the samples in it. */
#include <assert.h>
#include <stdio.h>

#include "fuzz_memory.h"
#include "sample_group.h"
#include "tar_header.h"

size_t LLVMFuzzerMutate(unsigned char *data, size_t bytes, size_t most);
size_t LLVMFuzzerCustomMutator(unsigned char *data, size_t bytes, size_t most, unsigned seed);

/* Makes the checksums right again, most of the time: else nothing behind them would be tried. */
size_t LLVMFuzzerCustomMutator(unsigned char *data, size_t bytes, size_t most, unsigned seed)
{
    bytes = LLVMFuzzerMutate(data, bytes, most);
    for (size_t at = 0; seed % 8 && at + RUE_TAR_BLOCK <= bytes; at += RUE_TAR_BLOCK) {
        struct rue_tar_header header;
        memcpy(&header, data + at, sizeof header);
        if (memcmp(header.magic, "ustar", 5) != 0) continue;
        snprintf(header.checksum, sizeof header.checksum, "%06o", rue_tar_sum(&header));
        memcpy(data + at, &header, sizeof header);
    }
    return bytes;
}

static void check(const struct rue_item_index *index, const struct rue_byte_stream *stream)
{
    for (uint64_t i = 0; i < index->count; i++) {
        const struct rue_index_entry *entry = &index->entries[i];
        const char *name = rue_item_index_name(index, i);
        assert(entry->offset + entry->bytes <= rue_byte_stream_position(stream));
        assert(name[0] && name[0] != '/' && strncmp(name, "../", 3) != 0 && !strstr(name, "/../"));
        assert(entry->label >= 0);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    const struct rue_byte_input input = fuzz_memory_input(data, bytes);
    struct rue_byte_stream *stream;
    struct rue_tar_reader *reader;
    struct rue_item_index index = {0};
    struct rue_sample_group group = {.index = &index};
    rue_error error = {0};
    if (rue_byte_stream_open(&input, &stream, &error) != RUE_OK) return 0;
    rue_status status = rue_tar_reader_open(stream, "input", bytes, &reader, &error);
    assert(status == RUE_OK);
    status = rue_sample_group_add(&group, 0, "input", reader, &error);
    if (status == RUE_OK) status = rue_sample_group_end(&group, &error);
    assert(status == RUE_OK || (status == RUE_DATA && error.message[0]));
    if (status == RUE_OK) check(&index, stream);
    rue_tar_reader_close(reader);
    rue_item_index_free(&index);
    rue_byte_stream_close(stream);
    return 0;
}
