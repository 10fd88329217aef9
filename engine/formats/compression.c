#include "compression.h"

const char *const rue_compression_names[RUE_COMPRESSION_COUNT] = {"none", "gzip", "zstd", "lz4"};
const char *const rue_compression_suffixes[RUE_COMPRESSION_COUNT] = {"", ".gz", ".zst", ".lz4"};
