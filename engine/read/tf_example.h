/* A record of TFRecord files: the protocol buffer message tf.train.Example, a map from names to lists of
 * bytes, floats or integers. A small bounded parser of its wire format; what it does not know is passed over.
 */
#ifndef RUE_TF_EXAMPLE_H
#define RUE_TF_EXAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rue_tf_kind { RUE_TF_NOTHING, RUE_TF_BYTES, RUE_TF_FLOATS, RUE_TF_INTEGERS };
enum { RUE_TF_INTEGERS_MAX = 4, RUE_TF_HEAD_MAX = 16384 };

struct rue_tf_feature {
    const char *name; /* [name_bytes], no NUL behind it; in the message, as `bytes` */
    size_t name_bytes;
    enum rue_tf_kind kind;
    size_t count;               /* values; of floats whether there are any */
    const unsigned char *bytes; /* the first value [byte_count] */
    uint64_t byte_count;
    int64_t integers[RUE_TF_INTEGERS_MAX]; /* the first ones */
};

typedef void (*rue_tf_visit)(void *context, const struct rue_tf_feature *feature);

/* Visits the features in the order of the message; one that comes again replaces the earlier one, as in any
 * map of protocol buffers. False where the message is damaged, with `*at` the byte. */
bool rue_tf_example_walk(const unsigned char *data, uint64_t bytes, rue_tf_visit visit, void *context,
                         uint64_t *at);

/* Whether the feature has this name. */
bool rue_tf_feature_is(const struct rue_tf_feature *feature, const char *name);

/* What an Example is made of that rue writes. */
struct rue_tf_item {
    const char *key;       /* feature "name" */
    int32_t label;         /* "label" */
    const uint32_t *shape; /* "shape" [3], and "dtype"; NULL: neither */
    const char *dtype;
    uint64_t bytes; /* of "image", which comes last */
};

/* Writes all of the message but the bytes of the image, which follow it and end the message: how many bytes
 * there are. Keys have less than PATH_MAX bytes. */
size_t rue_tf_example_head(const struct rue_tf_item *item, unsigned char head[RUE_TF_HEAD_MAX]);

#endif
