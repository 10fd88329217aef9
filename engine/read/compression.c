#include "compression.h"

#include <stddef.h>

const char *const rue_compression_names[RUE_COMPRESSION_COUNT + 1] = {"none", "gzip", "zstd", "lz4", NULL};
const char *const rue_compression_suffixes[RUE_COMPRESSION_COUNT] = {"", ".gz", ".zst", ".lz4"};
