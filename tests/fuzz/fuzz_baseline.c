/* A JPEG with rue's decoder of baseline scans and without it: the same pixels, and the same reason. */
#include <stdlib.h>

#include "jpeg_parts.h"

enum { MAX_PIXELS = 1 << 15 };

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    static struct rue_jpeg *plain, *levels[2];
    struct rue_jpeg **own = &levels[bytes % 2];
    const struct rue_kernels *kernels = bytes % 2 ? rue_kernels_best() : &rue_kernels_portable;
    if (!plain && rue_jpeg_open(MAX_PIXELS, 0, NULL, &plain, NULL) != RUE_OK) abort();
    if (!*own && rue_jpeg_open(MAX_PIXELS, 0, kernels, own, NULL) != RUE_OK) abort();
    const struct jpeg_part parts[] = {{0}, {.short_side = 8, .left = 11, .width = 23, .top = 9}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct jpeg_result a = jpeg_decode_part(plain, data, bytes, parts[i]),
                           b = jpeg_decode_part(*own, data, bytes, parts[i]);
        if (jpeg_difference(&a, &b)) abort();
        free(a.rows);
        free(b.rows);
    }
    return 0;
}
