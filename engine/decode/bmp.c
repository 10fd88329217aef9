/* BMP: what Pillow reads (BmpImagePlugin.py), which is 1, 4, 8, 16, 24 and 32 bits, with bit fields of some
 * layouts, and run lengths. Alpha is dropped. A file that lacks pixels is an error, as in
 * Pillow. */
#include <string.h>

#include "whole.h"

enum {
    FILE_BYTES = 14, /* before the header */
    HEADER_LEAST = FILE_BYTES + 12,
    MASKS_AT = FILE_BYTES + 40,
    COLOURS_MAX = 256,
};

enum compression { RAW, RLE8, RLE4, FIELDS };

struct bmp {
    struct rue_bytes data;
    uint32_t header_bytes, width, height, bits, compression, colours;
    bool top_down;
    size_t pixels_at;
    uint32_t shift[3];  /* of red, green and blue in a pixel */
    uint32_t levels[3]; /* the largest value of each */
    uint8_t palette[COLOURS_MAX][4];
};

static rue_status fail_truncated(rue_error *error)
{
    return rue_fail(error, RUE_DATA, "is a BMP file that is truncated");
}

static rue_status fail_unsupported(const char *what, uint32_t number, rue_error *error)
{
    return rue_fail(error, RUE_DATA, "is a BMP file with %s %u, which is not supported: save it as PNG", what,
                    number);
}

static bool is_known_header(uint32_t bytes)
{
    return bytes == 12 || bytes == 40 || bytes == 52 || bytes == 56 || bytes == 64 || bytes == 108 ||
           bytes == 124;
}

/* Before Windows 3: 16-bit sizes. Later, a negative height means that the first row is the top. */
static void read_sizes(struct bmp *bmp, const uint8_t *header)
{
    if (bmp->header_bytes == 12) {
        bmp->width = rue_whole_u16le(header + 4);
        bmp->height = rue_whole_u16le(header + 6);
        bmp->bits = rue_whole_u16le(header + 10);
        return;
    }
    bmp->width = rue_whole_u32le(header + 4);
    bmp->height = rue_whole_u32le(header + 8);
    bmp->top_down = header[11] == UINT8_MAX;
    if (bmp->top_down) bmp->height = -bmp->height;
    bmp->bits = rue_whole_u16le(header + 14);
    bmp->compression = rue_whole_u32le(header + 16);
    bmp->colours = rue_whole_u32le(header + 32);
}

static rue_status read_header(struct rue_bytes data, struct bmp *bmp, rue_error *error)
{
    *bmp = (struct bmp){.data = data};
    if (data.count < HEADER_LEAST) return fail_truncated(error);
    const uint8_t *header = data.at + FILE_BYTES;
    bmp->header_bytes = rue_whole_u32le(header);
    if (!is_known_header(bmp->header_bytes))
        return fail_unsupported("a header of size", bmp->header_bytes, error);
    if (data.count < FILE_BYTES + (size_t)bmp->header_bytes) return fail_truncated(error);
    read_sizes(bmp, header);
    if (bmp->width && bmp->height) return RUE_OK;
    return rue_fail(error, RUE_DATA, "is a BMP file of %u x %u pixels", bmp->width, bmp->height);
}

static rue_status measure_bmp(struct rue_bytes data, uint32_t *width, uint32_t *height, rue_error *error)
{
    struct bmp bmp;
    rue_status status = read_header(data, &bmp, error);
    *width = bmp.width;
    *height = bmp.height;
    return status;
}

/* ---- colours ---- */

/* The layouts that Pillow reads, by the masks of red, green and blue. */
static const struct layout {
    uint32_t bits, masks[3], shift[3], levels[3];
} layouts[] = {
    {32, {0xFF0000, 0xFF00, 0xFF}, {16, 8, 0}, {255, 255, 255}},
    {32, {0xFF000000, 0xFF0000, 0xFF00}, {24, 16, 8}, {255, 255, 255}},
    {32, {0xFF000000, 0xFF00, 0xFF}, {24, 8, 0}, {255, 255, 255}},
    {32, {0xFF, 0xFF00, 0xFF0000}, {0, 8, 16}, {255, 255, 255}},
    {32, {0, 0, 0}, {16, 8, 0}, {255, 255, 255}},
    {24, {0xFF0000, 0xFF00, 0xFF}, {16, 8, 0}, {255, 255, 255}},
    {16, {0xF800, 0x7E0, 0x1F}, {11, 5, 0}, {31, 63, 31}},
    {16, {0x7C00, 0x3E0, 0x1F}, {10, 5, 0}, {31, 31, 31}},
};

/* Without masks, 16 bits have five of each colour. */
static rue_status choose_layout(struct bmp *bmp, rue_error *error)
{
    static const uint32_t usual[3] = {0xFF0000, 0xFF00, 0xFF}, usual16[3] = {0x7C00, 0x3E0, 0x1F};
    uint32_t masks[3];
    memcpy(masks, bmp->bits == 16 ? usual16 : usual, sizeof masks);
    if (bmp->compression == FIELDS) {
        if (bmp->data.count < MASKS_AT + sizeof masks) return fail_truncated(error);
        for (size_t c = 0; c < 3; c++) masks[c] = rue_whole_u32le(bmp->data.at + MASKS_AT + 4 * c);
    }
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i].bits != bmp->bits || memcmp(layouts[i].masks, masks, sizeof masks) != 0) continue;
        memcpy(bmp->shift, layouts[i].shift, sizeof bmp->shift);
        memcpy(bmp->levels, layouts[i].levels, sizeof bmp->levels);
        return RUE_OK;
    }
    return fail_unsupported("bit fields of another layout, red mask", masks[0], error);
}

/* Colours beyond the palette are black. A palette that is greyscale as far as it goes counts as a whole one.
 */
static rue_status read_palette(struct bmp *bmp, rue_error *error)
{
    size_t at = FILE_BYTES + (size_t)bmp->header_bytes, entry = bmp->header_bytes == 12 ? 3 : 4;
    if (bmp->compression == FIELDS) return fail_unsupported("bit fields and bits", bmp->bits, error);
    if (bmp->colours == 0) bmp->colours = 1U << bmp->bits;
    if (bmp->colours > 65536) return fail_unsupported("colours in the palette:", bmp->colours, error);
    if (bmp->data.count < at + entry * bmp->colours) return fail_truncated(error);
    bool grey = true;
    for (size_t i = 0; i < bmp->colours && i < COLOURS_MAX; i++, at += entry) {
        uint8_t level = (uint8_t)(bmp->colours == 2 ? i * UINT8_MAX : i);
        const uint8_t *colour = bmp->data.at + at;
        for (size_t c = 0; c < 3; c++) {
            bmp->palette[i][c] = colour[2 - c];
            grey &= colour[c] == level;
        }
    }
    for (size_t i = bmp->colours; grey && bmp->bits == 8 && bmp->colours != 2 && i < COLOURS_MAX; i++)
        memset(bmp->palette[i], (int)i, 3);
    return RUE_OK;
}

static rue_status read_format(struct bmp *bmp, rue_error *error)
{
    uint32_t bits = bmp->bits;
    bool indexed = bits == 1 || bits == 4 || bits == 8;
    if (!indexed && bits != 16 && bits != 24 && bits != 32)
        return fail_unsupported("bits per pixel:", bits, error);
    bool runs = bmp->compression == RLE8 || bmp->compression == RLE4;
    if (bmp->compression > FIELDS || (runs && !indexed))
        return fail_unsupported("compression", bmp->compression, error);
    rue_status status = indexed ? read_palette(bmp, error) : choose_layout(bmp, error);
    size_t header_end = FILE_BYTES + (size_t)bmp->header_bytes;
    bmp->pixels_at = rue_whole_u32le(bmp->data.at + 10);
    if (indexed && (bmp->pixels_at == header_end || bmp->pixels_at == 0))
        bmp->pixels_at = header_end + (bmp->header_bytes == 12 ? 3 : 4) * (size_t)bmp->colours;
    return status;
}

/* ---- pixels ---- */

static uint8_t *row_at(const struct bmp *bmp, uint32_t y, uint8_t *pixels)
{
    uint32_t from_top = bmp->top_down ? y : bmp->height - 1 - y;
    return pixels + (size_t)from_top * bmp->width * RUE_IMAGE_PIXEL_BYTES;
}

static void put_colour(const struct bmp *bmp, uint8_t index, uint8_t *pixel)
{
    memcpy(pixel, bmp->palette[index], RUE_IMAGE_PIXEL_BYTES);
}

static uint8_t index_at(const struct bmp *bmp, const uint8_t *row, uint32_t x)
{
    uint32_t per_byte = 8 / bmp->bits, place = per_byte - 1 - x % per_byte;
    return (uint8_t)(row[x / per_byte] >> place * bmp->bits & ((1U << bmp->bits) - 1));
}

static void put_fields(const struct bmp *bmp, const uint8_t *from, uint8_t *pixel)
{
    uint32_t value = rue_whole_u16le(from);
    for (size_t c = 0; c < 3; c++)
        pixel[c] = (uint8_t)((value >> bmp->shift[c] & bmp->levels[c]) * UINT8_MAX / bmp->levels[c]);
}

/* Of 24 or 32 bits: colours are whole bytes. */
static void put_bytes(const struct bmp *bmp, const uint8_t *from, uint8_t *to)
{
    const size_t width = bmp->width, bytes = bmp->bits / 8, red = bmp->shift[0] / 8,
                 green = bmp->shift[1] / 8, blue = bmp->shift[2] / 8;
    for (size_t x = 0; x < width; x++, from += bytes, to += RUE_IMAGE_PIXEL_BYTES) {
        to[0] = from[red];
        to[1] = from[green];
        to[2] = from[blue];
    }
}

static rue_status decode_raw(const struct bmp *bmp, uint8_t *pixels, rue_error *error)
{
    uint64_t stride = ((uint64_t)bmp->width * bmp->bits + 31) / 32 * 4;
    uint64_t needed = stride * (bmp->height - 1) + ((uint64_t)bmp->width * bmp->bits + 7) / 8;
    if (bmp->pixels_at > bmp->data.count || needed > bmp->data.count - bmp->pixels_at)
        return fail_truncated(error);
    for (uint32_t y = 0; y < bmp->height; y++) {
        const uint8_t *from = bmp->data.at + bmp->pixels_at + y * stride;
        uint8_t *to = row_at(bmp, y, pixels);
        if (bmp->bits > 16)
            put_bytes(bmp, from, to);
        else
            for (uint32_t x = 0; x < bmp->width; x++, to += RUE_IMAGE_PIXEL_BYTES)
                if (bmp->bits == 16)
                    put_fields(bmp, from + 2 * (size_t)x, to);
                else
                    put_colour(bmp, index_at(bmp, from, x), to);
    }
    return RUE_OK;
}

/* ---- runs ---- */

/* As Pillow's BmpRleDecoder: pixels follow each other, and `x` only limits runs to the row. */
struct runs {
    const struct bmp *bmp;
    uint8_t *pixels;
    size_t at; /* next byte of the file */
    uint64_t done, x;
};

static void put_index(struct runs *runs, uint8_t index)
{
    const struct bmp *bmp = runs->bmp;
    uint64_t y = runs->done / bmp->width, x = runs->done % bmp->width;
    if (y < bmp->height)
        put_colour(bmp, index, row_at(bmp, (uint32_t)y, runs->pixels) + x * RUE_IMAGE_PIXEL_BYTES);
    runs->done++;
}

static void put_zeros(struct runs *runs, uint64_t count)
{
    uint64_t all = (uint64_t)runs->bmp->width * runs->bmp->height;
    for (uint64_t i = 0; i < count && runs->done < all; i++) put_index(runs, 0);
}

static void put_run(struct runs *runs, uint64_t count, uint8_t value)
{
    uint64_t left = runs->x < runs->bmp->width ? runs->bmp->width - runs->x : 0;
    bool halves = runs->bmp->compression == RLE4;
    if (count > left) count = left;
    for (uint64_t i = 0; i < count; i++) put_index(runs, !halves ? value : i % 2 ? value & 0x0F : value >> 4);
    runs->x += count;
}

/* Pixels without runs, padded to 16 bits. */
static bool put_literals(struct runs *runs, uint64_t count)
{
    const struct bmp *bmp = runs->bmp;
    uint64_t left = (uint64_t)bmp->width * bmp->height - runs->done;
    bool halves = bmp->compression == RLE4;
    uint64_t kept = count < left ? count : left, bytes = halves ? (kept + 1) / 2 : kept;
    if (bytes > bmp->data.count - runs->at) return false;
    const uint8_t *from = bmp->data.at + runs->at;
    for (uint64_t i = 0; i < kept; i++)
        put_index(runs, !halves ? from[i] : i % 2 ? from[i / 2] & 0x0F : from[i / 2] >> 4);
    runs->at += bytes;
    runs->at += runs->at % 2;
    runs->x += count;
    return true;
}

/* A pair whose first byte is 0; false at the end. */
static bool run_command(struct runs *runs, uint8_t command)
{
    const struct bmp *bmp = runs->bmp;
    enum { END_OF_LINE, END, DELTA };
    if (command == END_OF_LINE) {
        put_zeros(runs, (bmp->width - runs->done % bmp->width) % bmp->width);
        runs->x = 0;
    } else if (command == END || (command == DELTA && bmp->data.count - runs->at < 2)) {
        return false;
    } else if (command == DELTA) {
        const uint8_t *step = bmp->data.at + runs->at;
        put_zeros(runs, step[0] + (uint64_t)step[1] * bmp->width);
        runs->at += 2;
        runs->x = runs->done % bmp->width;
    } else {
        return put_literals(runs, command);
    }
    return true;
}

static rue_status decode_runs(const struct bmp *bmp, uint8_t *pixels, rue_error *error)
{
    struct runs runs = {.bmp = bmp, .pixels = pixels, .at = bmp->pixels_at};
    uint64_t all = (uint64_t)bmp->width * bmp->height;
    bool more = true;
    while (more && runs.done < all && runs.at < bmp->data.count && bmp->data.count - runs.at >= 2) {
        const uint8_t *pair = bmp->data.at + runs.at;
        runs.at += 2;
        if (pair[0])
            put_run(&runs, pair[0], pair[1]);
        else
            more = run_command(&runs, pair[1]);
    }
    return runs.done < all ? fail_truncated(error) : RUE_OK;
}

static rue_status decode_bmp(struct rue_bytes data, uint32_t width, uint32_t height, uint8_t *pixels,
                             rue_error *error)
{
    struct bmp bmp;
    (void)width, (void)height;
    rue_status status = read_header(data, &bmp, error);
    if (status == RUE_OK) status = read_format(&bmp, error);
    if (status != RUE_OK) return status;
    bool runs = bmp.compression == RLE8 || bmp.compression == RLE4;
    return runs ? decode_runs(&bmp, pixels, error) : decode_raw(&bmp, pixels, error);
}

/* Its end has no mark, but the header says how long the file is. */
static bool bmp_ends(struct rue_bytes data)
{
    uint32_t bytes = rue_whole_u32le(data.at + 2);
    return bytes > HEADER_LEAST && bytes <= data.count;
}

const struct rue_whole_ops rue_whole_bmp = {measure_bmp, decode_bmp, bmp_ends, NULL};
