/* The header of NumPy's npy files, versions 1 to 3: one array of float32 or uint8 in C order with three axes.
 */
#ifndef RUE_NPY_H
#define RUE_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "source_index.h"

enum { RUE_NPY_HEADER_MAX = 4096 /* longer ones are refused */ };

struct rue_npy {
    enum rue_dtype dtype;
    uint32_t shape[3];
    uint64_t header_bytes; /* before the values */
    uint64_t value_bytes;
};

/* Reads the header from the first `bytes` of a file, of which RUE_NPY_HEADER_MAX suffice. RUE_DATA; the
 * reason is a predicate without the file's name ("is not an npy file"). */
rue_status rue_npy_parse(const void *data, size_t bytes, struct rue_npy *out,
                         rue_error *error) RUE_MUST_CHECK;

/* Makes `entry`, a npy file that begins with `head` [bytes], that of its values. The first item of the index
 * says its type and shape. RUE_DATA, as above, for a wrong size and for another type or shape. */
rue_status rue_npy_add_item(struct rue_index *index, struct rue_entry *entry, const void *head, size_t bytes,
                            rue_error *error) RUE_MUST_CHECK;

#endif
