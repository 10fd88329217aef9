#include "prepare_proof.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "hash.h"
#include "interrupt.h"
#include "random.h"
#include "source.h"

/* Where there are no classes, folders that names begin with are none either. */
void rue_prepare_proof_add(struct rue_prepare_proof *proof, const struct rue_item *item,
                           const char *class_name, const char *key)
{
    /* Two checksums of four bytes, from different beginnings, rather than a hash that takes the bytes one by
     * one. */
    const uint32_t crcs[] = {rue_crc32c(0, item->data, item->bytes),
                             rue_crc32c(0x9E3779B9, item->data, item->bytes / 2)};
    const int32_t label = proof->labelled ? item->label : 0;
    const uint64_t place = proof->format->sorts ? 0 : proof->digest.items;
    uint64_t hash = rue_hash(RUE_HASH_START, crcs, sizeof crcs);
    hash = rue_hash(hash, &item->bytes, sizeof item->bytes);
    hash = rue_hash(hash, &place, sizeof place);
    hash = proof->labelled && class_name ? rue_hash(hash, class_name, strlen(class_name) + 1)
                                         : rue_hash(hash, &label, sizeof label);
    if (key) hash = rue_hash(hash, key, strlen(key) + 1);
    proof->digest.items++;
    proof->digest.sum += rue_mix64(hash);
}

static rue_status read_item(struct rue_prepare_proof *found, const struct rue_source *written,
                            uint64_t number, unsigned char *buffer, rue_error *error)
{
    char key[PATH_MAX];
    struct rue_item item = {.data = buffer,
                            .bytes = rue_source_bytes(written, number),
                            .label = rue_source_label(written, number)};
    rue_status status = rue_source_read(written, number, buffer, error);
    if (status == RUE_OK) status = rue_source_verify(written, number, buffer, error);
    if (status != RUE_OK) return status;
    bool named = item.label >= 0 && (size_t)item.label < rue_source_class_count(written);
    rue_source_key(written, number, key, sizeof key);
    rue_prepare_proof_add(found, &item, named ? rue_source_class_name(written, (size_t)item.label) : NULL,
                          found->format->key ? key : NULL);
    return RUE_OK;
}

static rue_status read_items(struct rue_prepare_proof *found, const struct rue_source *written,
                             struct rue_progress *progress, rue_error *error)
{
    uint64_t count = rue_source_count(written), capacity = 1;
    for (uint64_t i = 0; i < count; i++)
        if (rue_source_bytes(written, i) > capacity) capacity = rue_source_bytes(written, i);
    unsigned char *buffer = malloc(capacity);
    rue_status status = buffer ? RUE_OK : rue_fail_memory(error, "an item", capacity);
    for (uint64_t i = 0; status == RUE_OK && i < count; i++) {
        status = read_item(found, written, i, buffer, error);
        if (progress) rue_progress_count(progress, "verifying", i + 1, count);
        if (status == RUE_OK && rue_interrupt_status() != RUE_OK)
            status = rue_fail(error, rue_interrupt_status(), "interrupted while it was read back");
    }
    free(buffer);
    return status;
}

rue_status rue_prepare_proof_check(const struct rue_prepare_proof *proof, const char *path,
                                   struct rue_progress *progress, rue_error *error)
{
    struct rue_source *written;
    struct rue_prepare_proof found = {.format = proof->format, .labelled = proof->labelled};
    const struct rue_source_options options = {.format = proof->format->format, .stop = rue_interrupt_status};
    rue_status status = rue_source_open(path, &options, &written, error);
    if (status != RUE_OK) return status;
    status = read_items(&found, written, progress, error);
    rue_source_close(written);
    if (status != RUE_OK) return status;
    if (found.digest.items != proof->digest.items)
        return rue_fail(error, RUE_DATA, "%s holds %" PRIu64 " items, not the %" PRIu64 " that were written",
                        path, found.digest.items, proof->digest.items);
    if (found.digest.sum == proof->digest.sum) return RUE_OK;
    return rue_fail(error, RUE_DATA, "%s holds %" PRIu64 " items that are not all those that were written",
                    path, found.digest.items);
}
