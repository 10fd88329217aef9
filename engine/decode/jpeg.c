#include "jpeg.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "baseline.h"
#include "units.h"

enum { MARKER_TEM = 0x01, MARKER_SOF0 = 0xC0, MARKER_SOS = 0xDA };

struct rue_jpeg {
    struct jpeg_decompress_struct decoder; /* first: find_owner */
    struct rue_baseline *baseline;         /* its client_data; NULL: libjpeg decodes the Huffman codes */
    struct jpeg_error_mgr hooks;
    jmp_buf trap;     /* errors of libjpeg jump here; set by each call that enters libjpeg */
    rue_error *error; /* of the call in progress */
    rue_status status;
    uint64_t max_pixels;
    uint32_t short_side; /* see rue_jpeg_open */
    size_t bytes;        /* of the image in progress */
    enum { IN_HEADER, IN_ROWS, AFTER_ROWS } phase;
};

static struct rue_jpeg *find_owner(j_common_ptr decoder)
{
    return (struct rue_jpeg *)decoder;
}

_Noreturn static void jump_out(struct rue_jpeg *jpeg, rue_status status)
{
    jpeg->status = status;
    longjmp(jpeg->trap, 1);
}

/* libjpeg's texts. Its own table is in an object that prints to stderr, which cannot be linked into a shared
 * object. */
#define JCOPYRIGHT_SHORT "" /* not in libjpeg's public headers */
#define JVERSION         ""
static const char *const texts[] = {
#define JMESSAGE(code, text) text,
#include <jerror.h>
};

static void format_message(j_common_ptr common, char *out)
{
    struct jpeg_error_mgr *hooks = common->err;
    size_t code = (size_t)hooks->msg_code;
    const char *text = texts[code < sizeof texts / sizeof *texts ? code : 0];
    const int *number = hooks->msg_parm.i;
    if (strstr(text, "%s"))
        snprintf(out, JMSG_LENGTH_MAX, text, hooks->msg_parm.s);
    else
        snprintf(out, JMSG_LENGTH_MAX, text, number[0], number[1], number[2], number[3], number[4], number[5],
                 number[6], number[7]);
}

_Noreturn static void on_error(j_common_ptr common)
{
    struct rue_jpeg *jpeg = find_owner(common);
    int code = common->err->msg_code;
    if (code == JERR_OUT_OF_MEMORY)
        jump_out(jpeg,
                 rue_fail(jpeg->error, RUE_MEMORY, "cannot be decoded: out of memory for %u x %u pixels",
                          jpeg->decoder.image_width, jpeg->decoder.image_height));
    if (code == JERR_BAD_PRECISION)
        jump_out(jpeg, rue_fail(jpeg->error, RUE_DATA,
                                "has %d bits per sample, which is not supported: convert it to 8 bits",
                                common->err->msg_parm.i[0]));
    char text[JMSG_LENGTH_MAX];
    format_message(common, text);
    jump_out(jpeg, rue_fail(jpeg->error, RUE_DATA, "cannot be decoded: %s", text));
}

/* libjpeg fills missing data with grey and only warns. It accepts ff 01 in the headers; PIL refuses it. */
static void on_message(j_common_ptr common, int level)
{
    struct rue_jpeg *jpeg = find_owner(common);
    int code = common->err->msg_code;
    if (level < 0 && code == JWRN_JPEG_EOF) {
        if (jpeg->phase == AFTER_ROWS) jump_out(jpeg, RUE_OK);
        jump_out(jpeg, rue_fail(jpeg->error, RUE_DATA, "is truncated: the data end before the image does"));
    }
    if (jpeg->phase == IN_HEADER && code == JTRC_PARMLESS_MARKER && common->err->msg_parm.i[0] == MARKER_TEM)
        jump_out(jpeg,
                 rue_fail(jpeg->error, RUE_DATA, "cannot be decoded: its headers contain the marker ff 01"));
}

static void on_output(j_common_ptr common)
{
    (void)common;
}

static void reset_messages(j_common_ptr common)
{
    common->err->msg_code = 0;
    common->err->num_warnings = 0;
}

/* Walks the markers after the header of the first scan as libjpeg does, without decoding. Counting during
 * decoding would be too late: 100 scans of a large image take seconds. */
static bool has_too_many_scans(const struct jpeg_source_mgr *input)
{
    const uint8_t *at = input->next_input_byte, *end = at + input->bytes_in_buffer;
    int scans = 1;
    while ((at = memchr(at, 0xFF, (size_t)(end - at))) && end - at >= 4) {
        int marker = at[1];
        if (marker == 0xFF) {
            at++;
            continue;
        }
        at += 2;
        /* No length follows. Reserved markers below SOF0 are errors, but libjpeg skips them where it looks
         * for a restart marker. */
        bool bare = marker < MARKER_SOF0 || (marker >= JPEG_RST0 && marker < JPEG_RST0 + 8);
        if (bare) continue;
        if (marker == JPEG_EOI) return false;
        if (marker == MARKER_SOS && ++scans > RUE_JPEG_SCANS_MAX) return true;
        long length = at[0] << 8 | at[1];
        if (length > end - at) return false;
        at += length;
    }
    return false;
}

static uint64_t round_up(uint64_t value, int multiple)
{
    uint64_t step = (uint64_t)multiple;
    return (value + step - 1) / step * step;
}

/* libjpeg keeps the coefficients of all blocks of an image with several scans in memory. */
static rue_status check_scans(const struct rue_jpeg *jpeg, rue_error *error)
{
    const struct jpeg_decompress_struct *decoder = &jpeg->decoder;
    uint64_t blocks = 0;
    for (int i = 0; i < decoder->num_components; i++) {
        const jpeg_component_info *part = &decoder->comp_info[i];
        blocks += round_up(part->width_in_blocks, part->h_samp_factor) *
                  round_up(part->height_in_blocks, part->v_samp_factor);
    }
    uint64_t bytes = blocks * sizeof(JBLOCK);
    if (bytes > RUE_JPEG_SCAN_BYTES_MAX) {
        char needs[RUE_UNIT_TEXT_BYTES], limit[RUE_UNIT_TEXT_BYTES];
        return rue_fail(error, RUE_DATA,
                        "needs %s of memory to combine its scans (%u x %u pixels), and the limit is %s: save "
                        "it as a baseline JPEG",
                        rue_format_bytes(bytes, needs, sizeof needs), decoder->image_width,
                        decoder->image_height,
                        rue_format_bytes(RUE_JPEG_SCAN_BYTES_MAX, limit, sizeof limit));
    }
    if (has_too_many_scans(decoder->src))
        return rue_fail(error, RUE_DATA, "has more than %d scans: save it as a baseline JPEG",
                        RUE_JPEG_SCANS_MAX);
    return RUE_OK;
}

static rue_status check_header(struct rue_jpeg *jpeg, rue_error *error)
{
    j_decompress_ptr decoder = &jpeg->decoder;
    rue_status status =
        rue_image_size_check(decoder->image_width, decoder->image_height, jpeg->max_pixels, error);
    if (status != RUE_OK) return status;
    if (decoder->jpeg_color_space == JCS_UNKNOWN)
        return rue_fail(error, RUE_DATA,
                        "has %d colour components, which is not supported: convert it to RGB",
                        decoder->num_components);
    return jpeg_has_multiple_scans(decoder) ? check_scans(jpeg, error) : RUE_OK;
}

static bool has_black(const struct rue_jpeg *jpeg)
{
    return jpeg->decoder.num_components == 4;
}

static void reset_decoder(struct rue_jpeg *jpeg)
{
    jpeg_destroy_decompress(&jpeg->decoder);
}

rue_status rue_jpeg_open(uint64_t max_pixels, uint32_t short_side, const struct rue_kernels *kernels,
                         struct rue_jpeg **out, rue_error *error)
{
    struct rue_jpeg *jpeg = calloc(1, sizeof *jpeg);
    if (!jpeg) return rue_fail_memory(error, "a JPEG decoder", sizeof *jpeg);
    jpeg->max_pixels = max_pixels;
    jpeg->short_side = short_side;
    jpeg->hooks = (struct jpeg_error_mgr){.error_exit = on_error,
                                          .emit_message = on_message,
                                          .output_message = on_output,
                                          .format_message = format_message,
                                          .reset_error_mgr = reset_messages};
    jpeg->decoder.err = &jpeg->hooks;
    if (kernels && rue_baseline_open(kernels, &jpeg->baseline, error) != RUE_OK)
        return rue_jpeg_close(jpeg), RUE_MEMORY;
    jpeg->decoder.client_data = jpeg->baseline;
    *out = jpeg;
    return RUE_OK;
}

void rue_jpeg_set_short_side(struct rue_jpeg *jpeg, uint32_t short_side)
{
    jpeg->short_side = short_side;
}

void rue_jpeg_close(struct rue_jpeg *jpeg)
{
    if (!jpeg) return;
    reset_decoder(jpeg);
    rue_baseline_close(jpeg->baseline);
    free(jpeg);
}

/* Reads up to the first scan. Streams that hold only tables may come before that of the image. */
static void read_header(struct rue_jpeg *jpeg)
{
    jpeg->phase = IN_HEADER;
    while (jpeg_read_header(&jpeg->decoder, FALSE) == JPEG_HEADER_TABLES_ONLY) {
    }
    jpeg->phase = IN_ROWS;
}

/* Only the scales with SIMD code in libjpeg-turbo; others are slower than full size. jpeg_crop_scanline of
 * libjpeg-turbo before 3.0 miscalculates scaled widths for sampling factors above 2. */
static unsigned eighths(const struct rue_jpeg *jpeg)
{
    const struct jpeg_decompress_struct *decoder = &jpeg->decoder;
    if (decoder->max_h_samp_factor > 2 || decoder->max_v_samp_factor > 2) return 8;
    uint64_t side =
        decoder->image_width < decoder->image_height ? decoder->image_width : decoder->image_height;
    unsigned scale = 8;
    while (jpeg->short_side && scale > 1 && side * scale / 2 >= UINT64_C(8) * jpeg->short_side) scale /= 2;
    return scale;
}

/* Reads and checks the headers. Each image gets a new decoder: a reused one would decode a file without
 * tables with the tables of the previous image. It costs 0.1 us. */
static rue_status read_image_header(struct rue_jpeg *jpeg, const uint8_t *data, size_t bytes)
{
    if (setjmp(jpeg->trap)) return jpeg->status;
    jpeg_create_decompress(&jpeg->decoder);
    jpeg_mem_src(&jpeg->decoder, data, bytes);
    read_header(jpeg);
    return check_header(jpeg, jpeg->error);
}

static rue_status begin_image(struct rue_jpeg *jpeg, const void *data, size_t bytes, rue_error *error)
{
    reset_decoder(jpeg);
    if (bytes < 3) return rue_fail(error, RUE_DATA, "is truncated");
    if (((const uint8_t *)data)[2] != 0xFF)
        return rue_fail(error, RUE_DATA, "is not a JPEG: its third byte is not ff");
    jpeg->error = error;
    jpeg->bytes = bytes;
    return read_image_header(jpeg, data, bytes);
}

static rue_status start_image(struct rue_jpeg *jpeg, struct rue_image_size *size)
{
    if (setjmp(jpeg->trap)) return jpeg->status;
    jpeg->decoder.out_color_space = has_black(jpeg) ? JCS_CMYK : JCS_EXT_RGBX;
    jpeg->decoder.dct_method = JDCT_ISLOW;
    jpeg->decoder.do_fancy_upsampling = TRUE;
    jpeg->decoder.scale_num = eighths(jpeg);
    jpeg->decoder.scale_denom = 8;
    jpeg_start_decompress(&jpeg->decoder);
    if (jpeg->baseline) rue_baseline_begin(&jpeg->decoder);
    *size = (struct rue_image_size){jpeg->decoder.output_width, jpeg->decoder.output_height,
                                    jpeg->decoder.image_width, jpeg->decoder.image_height,
                                    jpeg->decoder.scale_num};
    return RUE_OK;
}

rue_status rue_jpeg_begin(struct rue_jpeg *jpeg, const void *data, size_t bytes, struct rue_image_size *size,
                          rue_error *error)
{
    rue_status status = begin_image(jpeg, data, bytes, error);
    if (status == RUE_OK) status = start_image(jpeg, size);
    if (status != RUE_OK) reset_decoder(jpeg);
    return status;
}

/* Converts inverted CMYK, which programs write, to RGB; rounds a * b / 255 as Pillow does. */
static void cmyk_to_rgb(uint8_t *pixels, size_t count)
{
    for (size_t i = 0; i < count; i++, pixels += RUE_IMAGE_PIXEL_BYTES) {
        unsigned light = pixels[3];
        for (size_t c = 0; c < 3; c++) {
            unsigned ink = (255U - pixels[c]) * light + 128;
            pixels[c] = (uint8_t)(light - ((ink + (ink >> 8)) >> 8));
        }
    }
}

/* Columns to decode on each side of a crop, because libjpeg knows nothing of those beyond. Smooth upsampling
 * reads one neighbouring sample. Smoothing of blocks, in progressive images of which scans are missing, reads
 * two neighbouring blocks (jdcoefct.c, decompress_smooth_data); the crop begins with a whole block. */
static JDIMENSION crop_margin(const struct jpeg_decompress_struct *decoder)
{
    enum { SAMPLE_COLUMNS = 16, BLOCKS = 3 };
    JDIMENSION block_columns = DCTSIZE * (JDIMENSION)decoder->max_h_samp_factor;
    return decoder->progressive_mode ? BLOCKS * block_columns : SAMPLE_COLUMNS;
}

static rue_status crop_columns(struct rue_jpeg *jpeg, uint32_t *first, uint32_t *count, uint32_t rows)
{
    JDIMENSION width = jpeg->decoder.output_width, margin = crop_margin(&jpeg->decoder);
    JDIMENSION begin = *first > margin ? *first - margin : 0;
    JDIMENSION end = *first + *count + margin < width ? *first + *count + margin : width,
               columns = end - begin;
    if (setjmp(jpeg->trap)) return jpeg->status;
    jpeg_crop_scanline(&jpeg->decoder, &begin, &columns);
    if (rows > 0) jpeg_skip_scanlines(&jpeg->decoder, rows);
    *first = begin;
    *count = columns;
    return RUE_OK;
}

rue_status rue_jpeg_crop(struct rue_jpeg *jpeg, uint32_t *first, uint32_t *count, uint32_t rows,
                         rue_error *error)
{
    jpeg->error = error;
    rue_status status = crop_columns(jpeg, first, count, rows);
    if (status != RUE_OK) reset_decoder(jpeg);
    return status;
}

static rue_status read_rows(struct rue_jpeg *jpeg, uint32_t count, uint8_t *out, size_t stride)
{
    enum { AT_ONCE = 16 };
    if (setjmp(jpeg->trap)) return jpeg->status;
    JDIMENSION first = jpeg->decoder.output_scanline;
    for (JDIMENSION done = 0; done < count; done = jpeg->decoder.output_scanline - first) {
        JSAMPROW rows[AT_ONCE];
        JDIMENSION requested = count - done < AT_ONCE ? count - done : AT_ONCE;
        for (JDIMENSION i = 0; i < requested; i++) rows[i] = out + (size_t)(done + i) * stride;
        JDIMENSION decoded = jpeg_read_scanlines(&jpeg->decoder, rows, requested);
        if (decoded == 0) return rue_fail(jpeg->error, RUE_INTERNAL, "has no more rows");
        if (!has_black(jpeg)) continue;
        for (JDIMENSION i = 0; i < decoded; i++) cmyk_to_rgb(rows[i], jpeg->decoder.output_width);
    }
    return RUE_OK;
}

rue_status rue_jpeg_rows(struct rue_jpeg *jpeg, uint32_t count, uint8_t *out, size_t stride, rue_error *error)
{
    jpeg->error = error;
    rue_status status = read_rows(jpeg, count, out, stride);
    if (status != RUE_OK) reset_decoder(jpeg);
    return status;
}

bool rue_jpeg_is_baseline_used(const struct rue_jpeg *jpeg)
{
    return jpeg->baseline && rue_baseline_is_used(jpeg->baseline);
}

/* PIL reads blocks of 64 KB. It does not see damage in blocks after the last row. */
static void end_at_block(struct rue_jpeg *jpeg)
{
    enum { BLOCK_BYTES = 65536 };
    struct jpeg_source_mgr *input = jpeg->decoder.src;
    size_t read = jpeg->bytes - input->bytes_in_buffer,
           left = (BLOCK_BYTES - read % BLOCK_BYTES) % BLOCK_BYTES;
    if (input->bytes_in_buffer > left) input->bytes_in_buffer = left;
}

/* Whether the end marker follows the scan. Then the remaining rows need no decoding. */
static bool end_follows(struct rue_jpeg *jpeg)
{
    j_decompress_ptr decoder = &jpeg->decoder;
    if (jpeg_input_complete(decoder)) return true;
    if (decoder->unread_marker) return decoder->unread_marker == JPEG_EOI;
    const uint8_t *at = decoder->src->next_input_byte, *end = at + decoder->src->bytes_in_buffer;
    while ((at = memchr(at, 0xFF, (size_t)(end - at))) && end - at >= 2) {
        int marker = *++at;
        bool in_scan = marker == 0 || marker == 0xFF || (marker >= JPEG_RST0 && marker < JPEG_RST0 + 8);
        if (!in_scan) return marker == JPEG_EOI;
    }
    return false;
}

/* Decodes and discards the remaining rows. */
static void read_rest(struct rue_jpeg *jpeg)
{
    j_decompress_ptr decoder = &jpeg->decoder;
    JSAMPROW row = decoder->mem->alloc_large((j_common_ptr)decoder, JPOOL_IMAGE,
                                             (size_t)decoder->output_width * RUE_IMAGE_PIXEL_BYTES);
    while (decoder->output_scanline < decoder->output_height) jpeg_read_scanlines(decoder, &row, 1);
}

static rue_status finish_image(struct rue_jpeg *jpeg)
{
    if (setjmp(jpeg->trap)) return jpeg->status;
    if (jpeg->decoder.output_scanline < jpeg->decoder.output_height) {
        if (end_follows(jpeg)) return RUE_OK;
        read_rest(jpeg);
    }
    jpeg->phase = AFTER_ROWS;
    end_at_block(jpeg);
    jpeg_finish_decompress(&jpeg->decoder);
    return RUE_OK;
}

rue_status rue_jpeg_end(struct rue_jpeg *jpeg, rue_error *error)
{
    jpeg->error = error;
    rue_status status = finish_image(jpeg);
    reset_decoder(jpeg);
    return status;
}

rue_status rue_jpeg_verify(struct rue_jpeg *jpeg, const void *data, size_t bytes, rue_error *error)
{
    struct rue_image_size size;
    rue_status status = begin_image(jpeg, data, bytes, error);
    reset_decoder(jpeg);
    if (status != RUE_OK || memcmp((const char *)data + bytes - 2, "\xFF\xD9", 2) == 0) return status;
    status = rue_jpeg_begin(jpeg, data, bytes, &size, error);
    return status == RUE_OK ? rue_jpeg_end(jpeg, error) : status;
}
