/* GIF: the first frame on its canvas, as Pillow gives it (GifImagePlugin.py, libImaging/GifDecode.c). The
 * canvas grows to hold the frame. Around the frame it has the transparent colour, or else the first one. */
#include <string.h>

#include "whole.h"

enum {
    SCREEN_BYTES = 13,
    FRAME_BYTES = 9,
    COLOURS = 256,
    CODE_BITS_MAX = 12,
    CODES = 1 << CODE_BITS_MAX,
    NO_CODE = CODES,
};

struct gif {
    struct rue_bytes data;
    size_t at;
    uint32_t width, height; /* of the canvas */
    uint32_t left, top, frame_width, frame_height;
    bool interlaced;
    uint8_t background; /* index of the colour around the frame */
    uint8_t palette[COLOURS][4];
};

static rue_status fail_truncated(rue_error *error)
{
    return rue_fail(error, RUE_DATA, "is a GIF file that is truncated");
}

/* The next bytes, or NULL if the data end before them. */
static const uint8_t *next_bytes(struct gif *gif, size_t bytes)
{
    const uint8_t *at = gif->data.at + gif->at;
    if (bytes > gif->data.count - gif->at) return NULL;
    gif->at += bytes;
    return at;
}

/* ---- headers ---- */

/* Without a palette, or if each colour is its index as grey, all indices are grey. Other colours that the
 * palette lacks are black. */
static void set_palette(struct gif *gif, const uint8_t *colours, uint32_t count)
{
    bool grey = true;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t c = 0; c < 3; c++) grey &= colours[3 * i + c] == i;
    for (uint32_t i = 0; i < COLOURS; i++)
        for (uint32_t c = 0; c < 3; c++)
            gif->palette[i][c] = grey ? (uint8_t)i : i < count ? colours[3 * i + c] : 0;
}

static rue_status read_palette(struct gif *gif, uint8_t flags, rue_error *error)
{
    if (!(flags & 0x80)) return RUE_OK;
    uint32_t count = 2U << (flags & 7);
    const uint8_t *colours = next_bytes(gif, 3 * (size_t)count);
    if (!colours) return fail_truncated(error);
    set_palette(gif, colours, count);
    return RUE_OK;
}

/* The first block of an extension may name the transparent colour. */
static rue_status read_extension(struct gif *gif, rue_error *error)
{
    enum { GRAPHIC_CONTROL = 0xF9 };
    const uint8_t *label = next_bytes(gif, 1), *count, *block;
    for (bool first = true;; first = false) {
        count = label ? next_bytes(gif, 1) : NULL;
        block = count ? next_bytes(gif, *count) : NULL;
        if (!block) return fail_truncated(error);
        if (*count == 0) return RUE_OK;
        if (first && *label == GRAPHIC_CONTROL && *count >= 4 && block[0] & 1) gif->background = block[3];
    }
}

static rue_status read_frame(struct gif *gif, rue_error *error)
{
    const uint8_t *frame = next_bytes(gif, FRAME_BYTES);
    if (!frame) return fail_truncated(error);
    gif->left = rue_whole_u16le(frame);
    gif->top = rue_whole_u16le(frame + 2);
    gif->frame_width = rue_whole_u16le(frame + 4);
    gif->frame_height = rue_whole_u16le(frame + 6);
    gif->interlaced = frame[8] & 0x40;
    if (gif->frame_width == 0 || gif->frame_height == 0)
        return rue_fail(error, RUE_DATA, "is a GIF file whose first frame has %u x %u pixels",
                        gif->frame_width, gif->frame_height);
    uint32_t right = gif->left + gif->frame_width, bottom = gif->top + gif->frame_height;
    if (gif->width < right) gif->width = right;
    if (gif->height < bottom) gif->height = bottom;
    return read_palette(gif, frame[8], error);
}

/* Reads up to the pixels of the first frame. */
static rue_status read_headers(struct rue_bytes data, struct gif *gif, rue_error *error)
{
    *gif = (struct gif){.data = data};
    const uint8_t *screen = next_bytes(gif, SCREEN_BYTES);
    if (!screen) return fail_truncated(error);
    if (memcmp(screen, "GIF87a", 6) != 0 && memcmp(screen, "GIF89a", 6) != 0)
        return rue_fail(error, RUE_DATA, "is a GIF file of an unknown version");
    gif->width = rue_whole_u16le(screen + 6);
    gif->height = rue_whole_u16le(screen + 8);
    set_palette(gif, NULL, 0);
    rue_status status = read_palette(gif, screen[10], error);
    while (status == RUE_OK) {
        const uint8_t *mark = next_bytes(gif, 1);
        if (!mark) return fail_truncated(error);
        if (*mark == ';') return rue_fail(error, RUE_DATA, "is a GIF file without a frame");
        if (*mark == ',') return read_frame(gif, error);
        if (*mark == '!') status = read_extension(gif, error);
    }
    return status;
}

static rue_status measure_gif(struct rue_bytes data, uint32_t *width, uint32_t *height, rue_error *error)
{
    struct gif gif;
    rue_status status = read_headers(data, &gif, error);
    *width = gif.width;
    *height = gif.height;
    return status;
}

/* ---- pixels ---- */

/* The next pixel of the frame. */
struct cursor {
    const struct gif *gif;
    uint8_t *pixels;
    uint32_t x, y, step;
    bool done;
};

/* Interlaced frames have rows 0, 8, ...; 4, 12, ...; 2, 6, ...; 1, 3, .... */
static void next_row(struct cursor *cursor)
{
    static const uint32_t step[] = {[4] = 8, [2] = 4, [1] = 2};
    cursor->x = 0;
    cursor->y += cursor->step;
    while (cursor->y >= cursor->gif->frame_height) {
        uint32_t begun = cursor->y % cursor->step;
        uint32_t next = cursor->step == 1 ? 0 : begun ? begun / 2 : 4;
        if (next == 0) {
            cursor->done = true;
            return;
        }
        cursor->y = next;
        cursor->step = step[next];
    }
}

static void put_pixel(struct cursor *cursor, uint8_t index)
{
    const struct gif *gif = cursor->gif;
    if (cursor->done) return;
    size_t at = (size_t)(gif->top + cursor->y) * gif->width + gif->left + cursor->x;
    memcpy(cursor->pixels + at * RUE_IMAGE_PIXEL_BYTES, gif->palette[index], RUE_IMAGE_PIXEL_BYTES);
    if (++cursor->x == gif->frame_width) next_row(cursor);
}

/* The codes of the frame, and the strings that they stand for. */
struct codes {
    struct gif *gif;
    uint32_t bits, bit_count; /* read, but not used */
    uint32_t block_left;
    uint32_t least_bits, code_bits, clear, free; /* free: the next code that gets a string */
    uint32_t last;                               /* the code before; NO_CODE after a clear code */
    uint8_t last_first;                          /* first index of its string */
    uint16_t prefix[CODES];
    uint8_t suffix[CODES];
    uint8_t string[CODES + 1]; /* of the code, from its end */
};

static void clear_codes(struct codes *codes)
{
    codes->code_bits = codes->least_bits + 1;
    codes->free = codes->clear + 2;
    codes->last = NO_CODE;
}

/* A block counts only if it is complete, as in Pillow. */
static bool read_code(struct codes *codes, uint32_t *code)
{
    struct gif *gif = codes->gif;
    while (codes->bit_count < codes->code_bits) {
        if (codes->block_left == 0) {
            const uint8_t *count = next_bytes(gif, 1);
            if (!count || *count == 0 || *count > gif->data.count - gif->at) return false;
            codes->block_left = *count;
        }
        codes->bits |= (uint32_t)*next_bytes(gif, 1) << codes->bit_count;
        codes->bit_count += 8;
        codes->block_left--;
    }
    *code = codes->bits & ((1U << codes->code_bits) - 1);
    codes->bits >>= codes->code_bits;
    codes->bit_count -= codes->code_bits;
    return true;
}

static void add_string(struct codes *codes)
{
    if (codes->last == NO_CODE || codes->free == CODES) return;
    codes->prefix[codes->free] = (uint16_t)codes->last;
    codes->suffix[codes->free] = codes->last_first;
    codes->free++;
    if (codes->free == 1U << codes->code_bits && codes->code_bits < CODE_BITS_MAX) codes->code_bits++;
}

/* Writes the string of the code; false if it has none. The first unused code is that of the last string with
 * its first index again. */
static bool put_string(struct codes *codes, uint32_t code, struct cursor *cursor)
{
    uint32_t count = 0, at = code;
    bool known = codes->last == NO_CODE ? code < codes->clear : code <= codes->free && code < CODES;
    if (!known) return false;
    if (code == codes->free && codes->last != NO_CODE) {
        codes->string[count++] = codes->last_first;
        at = codes->last;
    }
    for (; at >= codes->clear; at = codes->prefix[at]) codes->string[count++] = codes->suffix[at];
    codes->last_first = codes->string[count++] = (uint8_t)at;
    add_string(codes);
    codes->last = code;
    while (count > 0) put_pixel(cursor, codes->string[--count]);
    return true;
}

static rue_status decode_frame(struct codes *codes, struct cursor *cursor, rue_error *error)
{
    uint32_t code;
    clear_codes(codes);
    while (!cursor->done) {
        if (!read_code(codes, &code) || code == codes->clear + 1) return fail_truncated(error);
        if (code == codes->clear)
            clear_codes(codes);
        else if (!put_string(codes, code, cursor))
            return rue_fail(error, RUE_DATA, "is a GIF file that cannot be decoded: it is damaged");
    }
    return RUE_OK;
}

static rue_status decode_gif(struct rue_bytes data, uint32_t width, uint32_t height, uint8_t *pixels,
                             rue_error *error)
{
    struct gif gif;
    rue_status status = read_headers(data, &gif, error);
    if (status != RUE_OK) return status;
    const uint8_t *least_bits = next_bytes(&gif, 1);
    if (!least_bits) return fail_truncated(error);
    if (*least_bits >= CODE_BITS_MAX)
        return rue_fail(error, RUE_DATA, "is a GIF file that cannot be decoded: its codes have %d bits",
                        *least_bits);
    struct codes codes = {.gif = &gif, .least_bits = *least_bits, .clear = 1U << *least_bits};
    struct cursor cursor = {.gif = &gif, .pixels = pixels, .step = gif.interlaced ? 8 : 1};
    if (gif.frame_width != width || gif.frame_height != height)
        for (size_t i = 0; i < (size_t)width * height; i++)
            memcpy(pixels + i * RUE_IMAGE_PIXEL_BYTES, gif.palette[gif.background], RUE_IMAGE_PIXEL_BYTES);
    return decode_frame(&codes, &cursor, error);
}

static bool gif_ends(struct rue_bytes data)
{
    return data.at[data.count - 1] == ';';
}

const struct rue_whole_ops rue_whole_gif = {measure_gif, decode_gif, gif_ends, NULL};
