/* The ways in which a stream of bytes can be compressed. */
#ifndef RUE_COMPRESSION_H
#define RUE_COMPRESSION_H

enum rue_compression {
    RUE_COMPRESS_NONE,
    RUE_COMPRESS_GZIP,
    RUE_COMPRESS_ZSTD,
    RUE_COMPRESS_LZ4,
    RUE_COMPRESSION_COUNT
};
extern const char
    *const rue_compression_names[RUE_COMPRESSION_COUNT + 1]; /* "none", "gzip", "zstd", "lz4", NULL */
extern const char *const rue_compression_suffixes[RUE_COMPRESSION_COUNT]; /* "", ".gz", ".zst", ".lz4" */

#endif
