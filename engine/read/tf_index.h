/* Reads shards of TFRecords through and notes where the images lie. */
#ifndef RUE_TF_INDEX_H
#define RUE_TF_INDEX_H

#include "item_index.h"
#include "source.h"

/* Fills `index`, its facts as sharded.h has them. The name of an entry is "<where its record begins> <number
 * of the record in its shard> <what the item is called>", numbers in hexadecimal. Lengths are believed once
 * their checksum is right; data are checked, too. RUE_DATA names the file, the record and the byte: of a
 * checksum that is wrong, a record that is cut, a message that is damaged or lacks an image; RUE_MEMORY. */
rue_status rue_tf_index_build(struct rue_shard_set *set, const struct rue_source_options *options,
                              struct rue_item_index *index, rue_error *error) RUE_MUST_CHECK;

#endif
