/* Parses the header of npy files, versions 1 to 3, in every form that NumPy reads: one array of float32,
 * float16 or uint8, C order. Shapes are those of Zarr items: fewer than three axes get leading ones of length
 * 1. Of more than three axes those of length 1 are left out, the first ones first. */
#ifndef RUE_NPY_H
#define RUE_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "source_index.h"

enum { RUE_NPY_HEADER_MAX = 4096 /* longer headers are refused */ };

struct rue_npy {
    enum rue_dtype dtype;
    uint32_t shape[3];
    uint64_t header_bytes; /* offset of the values */
    uint64_t value_bytes;
};

/* Parses the header from the first `bytes` of a file; RUE_NPY_HEADER_MAX are enough. RUE_DATA: the message
 * does not name the file ("is not an npy file"). */
rue_status rue_npy_parse(const void *data, size_t bytes, struct rue_npy *out,
                         rue_error *error) RUE_MUST_CHECK;

/* Changes `entry` from an npy file that begins with `head` [bytes] to its values. The first item of the index
 * sets type and shape. RUE_DATA as above; also if the size is wrong, or type or shape differ. */
rue_status rue_npy_add_item(struct rue_index *index, struct rue_entry *entry, const void *head, size_t bytes,
                            rue_error *error) RUE_MUST_CHECK;

#endif
