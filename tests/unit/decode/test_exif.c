#include "exif.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(exif, .timeout = 60);

static unsigned orientation(const char *data, size_t bytes)
{
    return rue_exif_orientation((struct rue_bytes){(const uint8_t *)data, bytes});
}

#define BIG    "MM\0*\0\0\0\x08\0\x01"
#define LITTLE "II*\0\x08\0\0\0\x01\0"

Test(exif, orientation_is_read_in_both_byte_orders)
{
    static const char big[] = BIG "\x01\x12\0\x03\0\0\0\x01\0\x06\0\0",
                      little[] = LITTLE "\x12\x01\x03\0\x01\0\0\0\x08\0\0\0";
    cr_assert_eq(orientation(big, sizeof big - 1), 6);
    cr_assert_eq(orientation(little, sizeof little - 1), 8);
    static const char named[] = "Exif\0\0" BIG "\x01\x12\0\x03\0\0\0\x01\0\x06\0\0";
    cr_assert_eq(orientation(named, sizeof named - 1), 6, "the name of the data comes before them");
}

Test(exif, damaged_data_have_no_orientation)
{
    static const char cut[] = BIG "\x01\x12\0\x03\0\0\0\x01\0\x06\0\0",
                      nine[] = BIG "\x01\x12\0\x03\0\0\0\x01\0\x09\0\0",
                      other[] = BIG "\x01\x12\0\x05\0\0\0\x01\0\x06\0\0", far[] = "MM\0*\xff\xff\xff\xff";
    for (size_t bytes = 0; bytes < sizeof cut - 1; bytes++) cr_assert_eq(orientation(cut, bytes), 1);
    cr_assert_eq(orientation(nine, sizeof nine - 1), 1);
    cr_assert_eq(orientation(other, sizeof other - 1), 1);
    cr_assert_eq(orientation(far, sizeof far - 1), 1);
}

/* Of the pixels 1 2 3 above 4 5 6. */
Test(exif, pixels_are_turned)
{
    static const uint8_t turned[9][6] = {
        {0},
        {1, 2, 3, 4, 5, 6},
        {3, 2, 1, 6, 5, 4},
        {6, 5, 4, 3, 2, 1},
        {4, 5, 6, 1, 2, 3},
        {1, 4, 2, 5, 3, 6},
        {4, 1, 5, 2, 6, 3},
        {6, 3, 5, 2, 4, 1},
        {3, 6, 2, 5, 1, 4},
    };
    const uint32_t from[6] = {1, 2, 3, 4, 5, 6};
    for (unsigned i = 1; i <= 8; i++) {
        uint32_t to[6];
        rue_exif_turn(i, 3, 2, (const uint8_t *)from, (uint8_t *)to);
        for (size_t p = 0; p < 6; p++) cr_assert_eq(to[p], turned[i][p], "orientation %u, pixel %zu", i, p);
    }
}
