/* One JPEG in memory, decoded row by row: what PIL's convert('RGB') gives, level by level (accurate integer
 * IDCT, smooth upsampling). A decoder belongs to one thread. It never prints, and no error leaves anything
 * behind: the next `begin` is clean.
 *
 * Greyscale is replicated. CMYK and YCCK are taken as inverted, with or without Adobe's marker, and made RGB
 * as Pillow does (JpegImagePlugin.py, rawmode "CMYK;I"; libImaging/Convert.c, cmyk2rgb).
 *
 * Reasons are predicates without the file's name ("is a PNG file, not a JPEG"): the caller puts the name
 * before them. Refused with RUE_DATA: what is not a JPEG, other numbers of components than 1, 3 and 4, more
 * than 8 bits a sample, more pixels than the limit, more than RUE_JPEG_SCANS_MAX scans or
 * RUE_JPEG_SCAN_BYTES_MAX of them (all from the headers, before memory for pixels is taken), and data that
 * end before the last row is decoded, which needs some bytes or the end marker after it. Other damage that
 * libjpeg only warns about passes, as it does in PIL; so does damage in metadata (EXIF, ICC, Photoshop),
 * which PIL reads and this does not. */
#ifndef RUE_JPEG_H
#define RUE_JPEG_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

enum {
    RUE_JPEG_PIXEL_BYTES = 4, /* R, G, B and one byte without meaning: a pixel is one aligned load */
    RUE_JPEG_SCANS_MAX = 100, /* a few hundred KB of thousands of scans would decode for minutes */
    /* What libjpeg holds of a progressive image or one of several scans: a KB can ask for any amount. It
     * suffices for every RGB image that PIL opens (2^30 / 6 pixels, 6 bytes each, in whole blocks). */
    RUE_JPEG_SCAN_BYTES_MAX = 1100000000,
};

struct rue_jpeg;

struct rue_jpeg_size {
    uint32_t width,
        height; /* pixels that come out, at least 1: the image's own times eighths / 8, rounded up */
    uint32_t full_width, full_height;
    unsigned eighths; /* 8 unless less was asked for */
};

/* `short_side`: 0, or how long the short side of what is decoded need only be: images of at least twice that
 * are decoded to a half, a quarter or an eighth of their size. */
rue_status rue_jpeg_open(uint64_t max_pixels, uint32_t short_side, struct rue_jpeg **out,
                         rue_error *error) RUE_MUST_CHECK;
void rue_jpeg_close(struct rue_jpeg *jpeg);

/* Reads the headers. `data` is borrowed until `end`, a failure, or the
 * next `begin`, which all forget the image. */
rue_status rue_jpeg_begin(struct rue_jpeg *jpeg, const void *data, size_t bytes, struct rue_jpeg_size *size,
                          rue_error *error) RUE_MUST_CHECK;

/* Before the first row: leaves out columns on both sides, where whole blocks of them are not needed, and
 * answers with those that rows will have: at least the `count` (> 0) that are asked for from column `*first`
 * on. Passes over the first `rows` rows, fewer than there are. */
rue_status rue_jpeg_crop(struct rue_jpeg *jpeg, uint32_t *first, uint32_t *count, uint32_t rows,
                         rue_error *error) RUE_MUST_CHECK;

/* The next `count` rows, top down, RUE_JPEG_PIXEL_BYTES a column, `stride` bytes apart.
 * Asking for more rows than are left is a bug. */
rue_status rue_jpeg_rows(struct rue_jpeg *jpeg, uint32_t count, uint8_t *out, size_t stride,
                         rue_error *error) RUE_MUST_CHECK;

/* After the last row that is needed; what is left is decoded only where its end is in doubt. Reads on to the
 * end marker, but as far as PIL does, to the end of a block of 64 KB: errors up to there count, and an end of
 * the data does not. */
rue_status rue_jpeg_end(struct rue_jpeg *jpeg, rue_error *error) RUE_MUST_CHECK;

#endif
