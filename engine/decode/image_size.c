#include "image_size.h"

#include "units.h"

rue_status rue_image_size_check(uint32_t width, uint32_t height, uint64_t max_pixels, rue_error *error)
{
    char has[RUE_UNIT_TEXT_BYTES], limit[RUE_UNIT_TEXT_BYTES];
    uint64_t pixels = (uint64_t)width * height;
    if (pixels <= max_pixels) return RUE_OK;
    return rue_fail(error, RUE_DATA, "has %s pixels (%u x %u), and the limit is %s: make it smaller",
                    rue_format_count(pixels, has, sizeof has), width, height,
                    rue_format_count(max_pixels, limit, sizeof limit));
}
