/* Decodes one image in memory to the levels of PIL's convert('RGB'): a JPEG row by row (jpeg.h), an image of
 * another type as a whole (whole.h). The type follows from the first bytes, not from a name. Animations give
 * their first frame. An image decoder belongs to one thread. It prints nothing, and can be used again after
 * an error.
 *
 * Messages do not name the file ("is truncated"): the caller puts the name before them. RUE_DATA: see jpeg.h;
 * or another type of file. RUE_MEMORY. */
#ifndef RUE_DECODER_H
#define RUE_DECODER_H

#include <stddef.h>
#include <stdint.h>

#include "image_size.h"
#include "loading.h"

struct rue_decoder;

/* `max_pixels`: larger images are refused, before memory for pixels is allocated. `short_side`: pixels that
 * the short side of a JPEG needs after decoding (rue_jpeg_open); 0: full size. An image that is turned is
 * decoded as a whole. */
rue_status rue_decoder_open(uint64_t max_pixels, uint32_t short_side, enum rue_orientation orientation,
                            struct rue_decoder **out, rue_error *error) RUE_MUST_CHECK;
void rue_decoder_close(struct rue_decoder *decoder);

/* Reads the headers. `data` must stay valid until rue_decoder_end, an error, or the next rue_decoder_begin.
 */
rue_status rue_decoder_begin(struct rue_decoder *decoder, const void *data, size_t bytes,
                             struct rue_image_size *size, rue_error *error) RUE_MUST_CHECK;

/* Checks the headers, and decodes the image only if the data do not end as such a file does. Errors as
 * rue_decoder_begin to rue_decoder_end. */
rue_status rue_decoder_verify(struct rue_decoder *decoder, const void *data, size_t bytes,
                              rue_error *error) RUE_MUST_CHECK;

/* Call these as rue_jpeg_crop, rue_jpeg_rows and rue_jpeg_end. */
rue_status rue_decoder_crop(struct rue_decoder *decoder, uint32_t *first, uint32_t *count, uint32_t rows,
                            rue_error *error) RUE_MUST_CHECK;
rue_status rue_decoder_rows(struct rue_decoder *decoder, uint32_t count, uint8_t *out, size_t stride,
                            rue_error *error) RUE_MUST_CHECK;
rue_status rue_decoder_end(struct rue_decoder *decoder, rue_error *error) RUE_MUST_CHECK;

#endif
