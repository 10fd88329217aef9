/* The file of an LMDB: its pages, its index, its items. */
#include <assert.h>
#include <string.h>

#include "fuzz_file.h"
#include "lmdb_set.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    struct rue_lmdb_set set;
    rue_error error = {0};
    char path[64], key[RUE_LMDB_KEY_TEXT_BYTES];
    int fd = fuzz_file(data, bytes, path);
    rue_status status = rue_lmdb_set_open(path, &(struct rue_source_options){0}, &set, &error);
    assert(status == RUE_OK || (status == RUE_DATA && error.message[0]));
    for (size_t i = 0; status == RUE_OK && i < set.count; i++) {
        const struct rue_lmdb_item *item = &set.items[i];
        assert(item->data_offset <= item->bytes && item->offset + item->bytes <= bytes);
        rue_lmdb_set_key(&set, i, key);
        assert(strlen(key) > 0);
    }
    rue_lmdb_set_close(&set);
    close(fd);
    return 0;
}
