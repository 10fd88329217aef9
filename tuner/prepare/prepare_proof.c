#include "prepare_proof.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "hash.h"
#include "interrupt.h"
#include "random.h"
#include "source.h"

static void add_hash(struct rue_data_digest *digest, uint64_t hash)
{
    digest->items++;
    digest->sum += hash;
}

/* Of an item at a place. Where there are no classes, folders that names begin with are none either. */
static uint64_t hash_of(const struct rue_prepare_proof *proof, uint64_t place, const struct rue_item *item,
                        const char *class_name, const char *key)
{
    struct rue_data_digest one = {0};
    bool labelled = proof->labelled;
    rue_data_digest_add(&one, item->data, item->bytes, labelled ? item->label : 0,
                        labelled ? class_name : NULL);
    if (key) one.sum = rue_hash(one.sum, key, strlen(key) + 1);
    return proof->format->sorts ? rue_mix64(one.sum) : rue_mix64(rue_hash(one.sum, &place, sizeof place));
}

rue_status rue_prepare_proof_add(struct rue_prepare_proof *proof, const struct rue_item *item,
                                 const char *class_name, const char *key, rue_error *error)
{
    uint64_t hash = hash_of(proof, proof->digest.items, item, class_name, key);
    size_t own = proof->digest.items - proof->earlier.items;
    add_hash(&proof->digest, hash);
    if (!proof->itemized) return RUE_OK;
    rue_status status = rue_array_grow(&proof->hashes, &proof->capacity, own + 1, sizeof *proof->hashes,
                                       "what was written", error);
    if (status == RUE_OK) proof->hashes[own] = hash;
    return status;
}

void rue_prepare_proof_close(struct rue_prepare_proof *proof)
{
    free(proof->hashes);
    proof->hashes = NULL;
    proof->capacity = 0;
}

/* ---- reading back ---- */

static int compare_hashes(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Whether one that was written is known to differ from what is read at its place. */
static bool differs(const struct rue_prepare_proof *proof, uint64_t item, uint64_t hash)
{
    uint64_t earlier = proof->earlier.items, own = proof->digest.items - earlier;
    if (!proof->itemized) return false;
    if (!proof->format->sorts)
        return item >= earlier && item < proof->digest.items && proof->hashes[item - earlier] != hash;
    return earlier == 0 && (own == 0 || !bsearch(&hash, proof->hashes, own, sizeof hash, compare_hashes));
}

static rue_status compare_item(const struct rue_prepare_proof *proof, const struct rue_source *written,
                               uint64_t number, const void *data, struct rue_data_digest *digest,
                               rue_error *error)
{
    char key[PATH_MAX], name[PATH_MAX];
    struct rue_item item = {
        .data = data, .bytes = rue_source_bytes(written, number), .label = rue_source_label(written, number)};
    bool named = item.label >= 0 && (size_t)item.label < rue_source_class_count(written);
    rue_source_key(written, number, key, sizeof key);
    uint64_t hash =
        hash_of(proof, number, &item, named ? rue_source_class_name(written, (size_t)item.label) : NULL,
                proof->format->key ? key : NULL);
    add_hash(digest, hash);
    if (!differs(proof, number, hash)) return RUE_OK;
    rue_source_name(written, number, name, sizeof name);
    return rue_fail(error, RUE_DATA,
                    "%s is not what was written there: its data, its label or its name is another", name);
}

static rue_status read_items(const struct rue_prepare_proof *proof, const struct rue_source *written,
                             unsigned char *buffer, struct rue_progress *progress,
                             struct rue_data_digest *digest, rue_error *error)
{
    uint64_t count = rue_source_count(written);
    for (uint64_t i = 0; i < count; i++) {
        rue_status status = rue_source_read(written, i, buffer, error);
        if (status == RUE_OK) status = rue_source_verify(written, i, buffer, error);
        if (status == RUE_OK) status = compare_item(proof, written, i, buffer, digest, error);
        if (progress) rue_progress_count(progress, "verifying", i + 1, count);
        if (status == RUE_OK && rue_interrupt_status() != RUE_OK)
            status = rue_fail(error, rue_interrupt_status(), "interrupted while it was read back");
        if (status != RUE_OK) return status;
    }
    return RUE_OK;
}

static rue_status compare_all(const struct rue_prepare_proof *proof, const char *path,
                              const struct rue_data_digest *digest, rue_error *error)
{
    if (digest->items != proof->digest.items)
        return rue_fail(error, RUE_DATA, "%s holds %" PRIu64 " items, not the %" PRIu64 " that were written",
                        path, digest->items, proof->digest.items);
    if (digest->sum == proof->digest.sum) return RUE_OK;
    if (proof->itemized && !proof->format->sorts) /* or it would have been found before */
        return rue_fail(error, RUE_DATA,
                        "%s: one of the first %" PRIu64
                        " items, which an earlier run wrote, is not what was written",
                        path, proof->earlier.items);
    return rue_fail(error, RUE_DATA, "%s holds %" PRIu64 " items that are not all those that were written",
                    path, digest->items);
}

rue_status rue_prepare_proof_check(struct rue_prepare_proof *proof, const char *path,
                                   struct rue_progress *progress, rue_error *error)
{
    struct rue_source *written;
    struct rue_data_digest digest = {0};
    size_t capacity = 1;
    const struct rue_source_options options = {.format = proof->format->format, .stop = rue_interrupt_status};
    rue_status status = rue_source_open(path, &options, &written, error);
    if (status != RUE_OK) return status;
    if (proof->format->sorts && proof->hashes)
        qsort(proof->hashes, proof->digest.items - proof->earlier.items, sizeof *proof->hashes,
              compare_hashes);
    for (uint64_t i = 0; i < rue_source_count(written); i++)
        if (rue_source_bytes(written, i) > capacity) capacity = rue_source_bytes(written, i);
    unsigned char *buffer = malloc(capacity);
    status = buffer ? read_items(proof, written, buffer, progress, &digest, error)
                    : rue_fail_memory(error, "an item", capacity);
    free(buffer);
    rue_source_close(written);
    return status == RUE_OK ? compare_all(proof, path, &digest, error) : status;
}
