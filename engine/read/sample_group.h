/* Members of a tar file grouped into samples, as the webdataset library does it: members that follow each
 * other and have the same key belong together. The key is the path up to the first dot of its last part; the
 * extension is all behind that dot, in lower case. */
#ifndef RUE_SAMPLE_GROUP_H
#define RUE_SAMPLE_GROUP_H

#include "item_index.h"
#include "npy.h"
#include "source.h"
#include "tar_reader.h"
#include "variant.h"

/* What indexing samples needs to know, and what it finds out. `index` is filled. */
struct rue_sample_group {
    struct rue_item_index *index;
    const struct rue_source_options *options; /* for rue_source_check_stop */
    const char *image_key, *label_key;        /* extensions; NULL: the usual ones */
    bool chosen;                              /* mode and npy are known: the first sample says them */
    enum rue_mode mode;
    struct rue_npy npy; /* of preprocessed samples */
    uint64_t labelled;
    char unlabelled[PATH_MAX + 64]; /* the first sample without a label; "" */
};

/* Adds the samples of one shard, whose messages call it `file`. RUE_DATA names file and byte: of what the tar
 * reader refuses, a label without an image, an extension that comes twice in a sample, a label that is no
 * number, an npy file that is not as the first one; RUE_MEMORY. */
rue_status rue_sample_group_add(struct rue_sample_group *group, uint32_t shard, const char *file,
                                struct rue_tar_reader *reader, rue_error *error) RUE_MUST_CHECK;

/* After the last shard: RUE_DATA where only some samples have a label. */
rue_status rue_sample_group_end(const struct rue_sample_group *group, rue_error *error) RUE_MUST_CHECK;

#endif
