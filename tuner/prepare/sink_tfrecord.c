/* The tfrecord format: a folder of shards of Examples (tf_record.h). */
#include <stdio.h>
#include <string.h>

#include "item_file.h"
#include "shard_writer.h"
#include "tf_record.h"
#include "tf_writer.h"

#include "sink.h"

static rue_status open_tfrecord(void *state, const char *path, const struct rue_sink_options *options,
                                rue_error *error)
{
    return rue_shard_writer_open(state, path, ".tfrecord", options, error);
}

static rue_status add_to_tfrecord(void *state, const struct rue_item *item, rue_error *error)
{
    struct rue_shard_writer *shards = state;
    const struct rue_sink_options *options = shards->options;
    unsigned char head[RUE_TF_RECORD_HEAD + RUE_TF_HEAD_MAX + RUE_ITEM_FILE_NPY_BYTES];
    unsigned char *message = head + RUE_TF_RECORD_HEAD;
    size_t npy = options->mode == RUE_PREPROCESSED ? RUE_ITEM_FILE_NPY_BYTES : 0;
    const struct rue_tf_item entry = {item->key, item->label, npy + item->bytes};
    size_t begun = rue_tf_example_head(&entry, message);
    if (npy) rue_item_file_npy_header(options, (char *)message + begun);
    begun += npy;
    uint64_t bytes = begun + item->bytes;
    memcpy(head, &bytes, sizeof bytes);
    const uint32_t head_crc = rue_tf_mask(rue_crc32c(0, head, sizeof bytes));
    memcpy(head + sizeof bytes, &head_crc, sizeof head_crc);
    const uint32_t crc = rue_tf_mask(rue_crc32c(rue_crc32c(0, message, begun), item->data, item->bytes));
    rue_status status = rue_shard_writer_begin(shards, error);
    if (status != RUE_OK) return status;
    status = rue_shard_writer_write(shards, head, RUE_TF_RECORD_HEAD + begun, error);
    if (status == RUE_OK) status = rue_shard_writer_write(shards, item->data, item->bytes, error);
    if (status == RUE_OK) status = rue_shard_writer_write(shards, &crc, sizeof crc, error);
    if (status != RUE_OK) return status;
    return rue_shard_writer_count(shards, error);
}

const struct rue_sink_ops rue_sink_tfrecord = {
    .format = "tfrecord",
    .help = "a folder of TFRecord shards of Examples",
    .has_mode = {[RUE_RAW] = true, [RUE_PREPROCESSED] = true},
    .shards = true,
    .state_bytes = sizeof(struct rue_shard_writer),
    .open = open_tfrecord,
    .add = add_to_tfrecord,
    .finish = rue_shard_writer_finish,
    .close = rue_shard_writer_close,
};
