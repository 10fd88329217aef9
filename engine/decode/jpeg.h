/* Decodes one JPEG in memory, row by row, to the same levels as PIL's convert('RGB'): accurate integer IDCT,
 * smooth upsampling. A decoder belongs to one thread. It prints nothing, and can be used again after an
 * error.
 *
 * Greyscale is replicated. CMYK and YCCK count as inverted, with or without Adobe's marker, and become RGB as
 * in Pillow (JpegImagePlugin.py, rawmode "CMYK;I"; libImaging/Convert.c, cmyk2rgb).
 *
 * Messages do not name the file ("is truncated"): the caller puts the name before them.
 * RUE_DATA, from the headers, before memory for pixels is allocated: not a JPEG; not 1, 3 or 4 components;
 * more than 8 bits per sample; more pixels than the limit; more than RUE_JPEG_SCANS_MAX scans or
 * RUE_JPEG_SCAN_BYTES_MAX of them. Also RUE_DATA: the data end before the last row is decoded, for which
 * libjpeg needs some bytes or the end marker after it. Other damage that libjpeg only warns about is
 * accepted, as in PIL. Damage in metadata (EXIF, ICC, Photoshop), which only PIL reads, is accepted, too. */
#ifndef RUE_JPEG_H
#define RUE_JPEG_H

#include <stddef.h>
#include <stdint.h>

#include "image_size.h"
#include "kernels.h"

enum {
    RUE_JPEG_SCANS_MAX = 100, /* thousands of scans in a few hundred KB would decode for minutes */
    /* Memory of libjpeg for an image with several scans, which a file of 1 KB can make arbitrarily large.
       Enough for all RGB images that PIL opens (2^30 / 6 pixels, 6 bytes each, in whole blocks). */
    RUE_JPEG_SCAN_BYTES_MAX = 1100000000,
};

struct rue_jpeg;

/* `short_side`: pixels that the short side needs after decoding; 0: full size. Images of at least twice that
 * size are decoded at 1/2, 1/4 or 1/8. `max_pixels`: larger images are refused. `kernels`: for baseline.h;
 * NULL: libjpeg alone decodes, to the same pixels in more time. */
rue_status rue_jpeg_open(uint64_t max_pixels, uint32_t short_side, const struct rue_kernels *kernels,
                         struct rue_jpeg **out, rue_error *error) RUE_MUST_CHECK;
void rue_jpeg_set_short_side(struct rue_jpeg *jpeg, uint32_t short_side);
void rue_jpeg_close(struct rue_jpeg *jpeg);

/* Reads the headers. `data` begin with ff d8; they must stay valid until rue_jpeg_end, an error, or the next
 * rue_jpeg_begin. */
rue_status rue_jpeg_begin(struct rue_jpeg *jpeg, const void *data, size_t bytes, struct rue_image_size *size,
                          rue_error *error) RUE_MUST_CHECK;

/* Checks the headers, and decodes the image only if the data do not end with the end marker. Errors as
 * rue_jpeg_begin to rue_jpeg_end. */
rue_status rue_jpeg_verify(struct rue_jpeg *jpeg, const void *data, size_t bytes,
                           rue_error *error) RUE_MUST_CHECK;

/* Call it before the first row. Skips columns in whole blocks on both sides, and the first `rows` rows. Rows
 * will have `*count` columns from column `*first`, at least those that these arguments request. `*count` > 0;
 * `rows` is less than the height. */
rue_status rue_jpeg_crop(struct rue_jpeg *jpeg, uint32_t *first, uint32_t *count, uint32_t rows,
                         rue_error *error) RUE_MUST_CHECK;

/* Writes the next `count` rows, RUE_IMAGE_PIXEL_BYTES per column, `stride` bytes per row. */
rue_status rue_jpeg_rows(struct rue_jpeg *jpeg, uint32_t count, uint8_t *out, size_t stride,
                         rue_error *error) RUE_MUST_CHECK;

/* For tests: see rue_baseline_is_used. */
bool rue_jpeg_is_baseline_used(const struct rue_jpeg *jpeg);

/* Call it after the last row that is needed. Checks the data up to the end marker, but like PIL no further
 * than a block of 64 KB; missing data at the end are accepted. Decodes other rows only if needed. */
rue_status rue_jpeg_end(struct rue_jpeg *jpeg, rue_error *error) RUE_MUST_CHECK;

#endif
