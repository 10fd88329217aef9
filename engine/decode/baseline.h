/* Decodes the Huffman codes of a JPEG with one sequential scan of 8 bits, inside libjpeg-turbo and twice as
 * fast. All else stays libjpeg-turbo's: headers, cropping, inverse DCT, upsampling, colours. docs/decoding.md
 * says why.
 *
 * The coefficients, and thus the pixels, are the same. Whatever is unusual is left to libjpeg-turbo, so that
 * verdicts and pixels of damaged files are the same, too: from the start if the markers of the scan are not
 * exactly those expected, else from the first MCU that is damaged. */
#ifndef RUE_BASELINE_H
#define RUE_BASELINE_H

#include <stdbool.h>
#include <stdio.h>

#include <jpeglib.h>

#include "error.h"
#include "kernels.h"

struct rue_baseline;

/* Belongs to one thread. RUE_MEMORY. */
rue_status rue_baseline_open(const struct rue_kernels *kernels, struct rue_baseline **out,
                             rue_error *error) RUE_MUST_CHECK;
void rue_baseline_close(struct rue_baseline *baseline);

/* Call it after jpeg_start_decompress, with `client_data` of the decoder set to `baseline` and all data of
 * the image in its source. Replaces the decoder's function for Huffman codes where that can be done. */
void rue_baseline_begin(j_decompress_ptr decoder);

/* Whether the MCUs so far of the image in progress, or of the last one, were decoded here. */
bool rue_baseline_is_used(const struct rue_baseline *baseline);

#endif
