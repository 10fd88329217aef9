/* PNG, by libpng, to the levels of Pillow's convert("RGB") (PngImagePlugin.py, _MODES): transparency is
 * dropped, of 16 bits the high 8 are kept, but greyscale of 16 bits is clipped to 255. Gamma and profiles are
 * ignored, and so are frames of an animation after the default image. Unlike Pillow, a wrong checksum of
 * image data is an error. */
#include <setjmp.h>
#include <string.h>

#include <png.h>

#include "whole.h"

enum { SIGNATURE_BYTES = 8, HEADER_BYTES = 33, CHUNK_BYTES = 12 };

struct png {
    png_structp reader;
    png_infop info;
    struct rue_bytes data;
    size_t at;
    jmp_buf trap; /* errors of libpng jump here */
    rue_status status;
    rue_error *error;
};

static rue_status fail_truncated(rue_error *error)
{
    return rue_fail(error, RUE_DATA, "is a PNG file that is truncated");
}

static rue_status measure_png(struct rue_bytes data, uint32_t *width, uint32_t *height, rue_error *error)
{
    static const uint8_t start[] = "\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR";
    size_t known = data.count < sizeof start - 1 ? data.count : sizeof start - 1;
    if (memcmp(data.at, start, known) != 0)
        return rue_fail(error, RUE_DATA, "is a PNG file whose header is damaged");
    if (data.count < HEADER_BYTES) return fail_truncated(error);
    *width = rue_whole_u32be(data.at + 16);
    *height = rue_whole_u32be(data.at + 20);
    if (*width && *height) return RUE_OK;
    return rue_fail(error, RUE_DATA, "is a PNG file of %u x %u pixels", *width, *height);
}

_Noreturn static void jump_out(struct png *png, rue_status status)
{
    png->status = status;
    longjmp(png->trap, 1);
}

_Noreturn static void on_png_error(png_structp reader, png_const_charp text)
{
    struct png *png = png_get_error_ptr(reader);
    jump_out(png, rue_fail(png->error, RUE_DATA, "is a PNG file that cannot be decoded: %s", text));
}

static void on_png_warning(png_structp reader, png_const_charp text)
{
    (void)reader, (void)text;
}

static void read_png(png_structp reader, png_bytep into, size_t bytes)
{
    struct png *png = png_get_io_ptr(reader);
    if (bytes > png->data.count - png->at) jump_out(png, fail_truncated(png->error));
    memcpy(into, png->data.at + png->at, bytes);
    png->at += bytes;
}

/* Chunks that do not change pixels are skipped, also compressed ones that would be huge. */
static void open_png(struct png *png)
{
    static const png_byte transparency[] = "tRNS";
    png_set_read_fn(png->reader, png, read_png);
    png_set_user_limits(png->reader, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_keep_unknown_chunks(png->reader, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_keep_unknown_chunks(png->reader, PNG_HANDLE_CHUNK_NEVER, transparency, 1);
    png_set_crc_action(png->reader, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_read_info(png->reader, png->info);
}

/* Converts 16-bit greyscale, which begins in the middle of the row, in place. */
static void clip_row(uint8_t *row, uint32_t width)
{
    const uint8_t *grey = row + (size_t)width * 2;
    for (size_t i = 0; i < width; i++, row += RUE_IMAGE_PIXEL_BYTES) {
        uint8_t level = grey[2 * i] ? UINT8_MAX : grey[2 * i + 1];
        row[0] = row[1] = row[2] = level;
    }
}

static void decode_rows(struct png *png, uint32_t width, uint32_t height, uint8_t *pixels)
{
    png_structp reader = png->reader;
    size_t stride = (size_t)width * RUE_IMAGE_PIXEL_BYTES;
    bool deep_grey = png_get_bit_depth(reader, png->info) == 16 &&
                     png_get_color_type(reader, png->info) == PNG_COLOR_TYPE_GRAY;
    if (!deep_grey) {
        png_set_strip_16(reader);
        png_set_expand(reader);
        png_set_gray_to_rgb(reader);
        png_set_filler(reader, UINT8_MAX, PNG_FILLER_AFTER);
    }
    int rounds = png_set_interlace_handling(reader);
    png_read_update_info(reader, png->info);
    size_t begin = deep_grey ? stride / 2 : 0;
    for (int round = 0; round < rounds; round++)
        for (size_t y = 0; y < height; y++) png_read_row(reader, pixels + y * stride + begin, NULL);
    for (size_t y = 0; y < height && deep_grey; y++) clip_row(pixels + y * stride, width);
}

static rue_status decode_with_trap(struct png *png, uint32_t width, uint32_t height, uint8_t *pixels)
{
    if (setjmp(png->trap)) return png->status;
    open_png(png);
    decode_rows(png, width, height, pixels);
    return RUE_OK;
}

static rue_status decode_png(struct rue_bytes data, uint32_t width, uint32_t height, uint8_t *pixels,
                             rue_error *error)
{
    struct png png = {.data = data, .error = error};
    png.reader = png_create_read_struct(PNG_LIBPNG_VER_STRING, &png, on_png_error, on_png_warning);
    png.info = png.reader ? png_create_info_struct(png.reader) : NULL;
    rue_status status = png.info ? decode_with_trap(&png, width, height, pixels)
                                 : rue_fail_memory(error, "a PNG decoder", sizeof png);
    png_destroy_read_struct(&png.reader, &png.info, NULL);
    return status;
}

static bool png_ends(struct rue_bytes data)
{
    return data.count > HEADER_BYTES + CHUNK_BYTES &&
           memcmp(data.at + data.count - CHUNK_BYTES, "\0\0\0\0IEND", 8) == 0;
}

/* Goes from chunk to chunk: the EXIF data may follow the image. */
static struct rue_bytes find_png_exif(struct rue_bytes data)
{
    for (size_t at = SIGNATURE_BYTES; data.count - at >= CHUNK_BYTES;) {
        const uint8_t *chunk = data.at + at;
        size_t length = rue_whole_u32be(chunk);
        if (length > data.count - at - CHUNK_BYTES) break;
        if (memcmp(chunk + 4, "eXIf", 4) == 0) return (struct rue_bytes){chunk + 8, length};
        at += CHUNK_BYTES + length;
    }
    return (struct rue_bytes){0};
}

const struct rue_whole_ops rue_whole_png = {measure_png, decode_png, png_ends, find_png_exif};
