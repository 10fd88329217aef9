#include "exif.h"

#include <string.h>

enum { TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, TYPE_LONG = 4, HEADER_BYTES = 8, ENTRY_BYTES = 12 };

static const char name[] = "Exif\0"; /* before the data in a JPEG, and in some WebP files */

struct rue_bytes rue_exif_find_in_jpeg(struct rue_bytes data)
{
    enum { APP1 = 0xE1, SOS = 0xDA };
    for (size_t at = 2; data.count - at >= 4 && data.at[at] == 0xFF;) {
        const uint8_t *part = data.at + at;
        if (part[1] == 0xFF) {
            at++;
            continue;
        }
        size_t length = (size_t)part[2] << 8 | part[3];
        if (part[1] == SOS || length < 2 || length > data.count - at - 2) break;
        if (part[1] == APP1 && length >= 2 + sizeof name && memcmp(part + 4, name, sizeof name) == 0)
            return (struct rue_bytes){part + 4 + sizeof name, length - 2 - sizeof name};
        at += 2 + length;
    }
    return (struct rue_bytes){0};
}

static uint32_t read_number(const uint8_t *at, size_t bytes, bool big_endian)
{
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; i++) value |= (uint32_t)at[i] << 8 * (big_endian ? bytes - 1 - i : i);
    return value;
}

/* The data are a TIFF file: the first directory has the tag. */
unsigned rue_exif_orientation(struct rue_bytes exif)
{
    if (exif.count >= sizeof name && memcmp(exif.at, name, sizeof name) == 0)
        exif = (struct rue_bytes){exif.at + sizeof name, exif.count - sizeof name};
    if (exif.count < HEADER_BYTES) return 1;
    bool big_endian = memcmp(exif.at, "MM\0*", 4) == 0;
    if (!big_endian && memcmp(exif.at, "II*\0", 4) != 0) return 1;
    size_t at = read_number(exif.at + 4, 4, big_endian);
    if (at > exif.count || exif.count - at < 2) return 1;
    uint32_t entries = read_number(exif.at + at, 2, big_endian);
    for (at += 2; entries > 0 && exif.count - at >= ENTRY_BYTES; entries--, at += ENTRY_BYTES) {
        const uint8_t *entry = exif.at + at;
        if (read_number(entry, 2, big_endian) != TAG_ORIENTATION) continue;
        uint32_t type = read_number(entry + 2, 2, big_endian), count = read_number(entry + 4, 4, big_endian);
        unsigned value = count != 1           ? 1
                         : type == TYPE_SHORT ? read_number(entry + 8, 2, big_endian)
                         : type == TYPE_LONG  ? read_number(entry + 8, 4, big_endian)
                                              : 1;
        return value >= 1 && value <= 8 ? value : 1;
    }
    return 1;
}

/* Row by row of the result, but in blocks of rows: a pixel's neighbours below are beside it in a turned
 * image. */
static void copy_turned(const uint32_t *from, ptrdiff_t right, ptrdiff_t down, uint32_t width,
                        uint32_t height, uint32_t *to)
{
    enum { BLOCK_ROWS = 16 };
    for (uint32_t top = 0; top < height; top += BLOCK_ROWS) {
        uint32_t rows = height - top < BLOCK_ROWS ? height - top : BLOCK_ROWS;
        for (uint32_t x = 0; x < width; x++)
            for (uint32_t y = top; y < top + rows; y++)
                to[(size_t)y * width + x] = from[(ptrdiff_t)x * right + (ptrdiff_t)y * down];
    }
}

void rue_exif_turn(unsigned orientation, uint32_t width, uint32_t height, const uint8_t *from, uint8_t *to)
{
    enum { MIRRORS_X = 1 << 2 | 1 << 3 | 1 << 7 | 1 << 8, MIRRORS_Y = 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 };
    bool mirror_x = MIRRORS_X >> orientation & 1, mirror_y = MIRRORS_Y >> orientation & 1;
    bool swap = rue_exif_swaps_sides(orientation);
    ptrdiff_t first =
        (mirror_x ? (ptrdiff_t)width - 1 : 0) + (mirror_y ? (ptrdiff_t)width * (height - 1) : 0);
    ptrdiff_t step_x = mirror_x ? -1 : 1, step_y = mirror_y ? -(ptrdiff_t)width : (ptrdiff_t)width;
    copy_turned((const uint32_t *)from + first, swap ? step_y : step_x, swap ? step_x : step_y,
                swap ? height : width, swap ? width : height, (uint32_t *)to);
}
