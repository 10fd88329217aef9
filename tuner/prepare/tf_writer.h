/* Writes messages tf.train.Example (tf_record.h). */
#ifndef RUE_TF_WRITER_H
#define RUE_TF_WRITER_H

#include <stddef.h>
#include <stdint.h>

enum { RUE_TF_HEAD_MAX = 16384 };

struct rue_tf_item {
    const char *key; /* feature "name" */
    int32_t label;   /* "label"; below 0: none */
    uint64_t bytes;  /* of "image", which comes last */
};

/* Writes the message without the image, whose bytes follow it. Returns the number of bytes written. Keys have
 * less than PATH_MAX bytes. */
size_t rue_tf_example_head(const struct rue_tf_item *item, unsigned char head[RUE_TF_HEAD_MAX]);

#endif
