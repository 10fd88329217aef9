#include "crc32c.h"

#include <criterion/criterion.h>
#include <string.h>

#include "random.h"

typedef uint32_t function(uint32_t crc, const void *data, size_t bytes);
static function *const functions[] = {rue_crc32c, rue_crc32c_portable};

static void check(const void *data, size_t bytes, uint32_t expected)
{
    for (int f = 0; f < 2; f++) {
        uint32_t crc = functions[f](0, data, bytes);
        cr_assert_eq(crc, expected, "function %d: %08x instead of %08x", f, crc, expected);
    }
}

Test(crc32c, vectors_of_rfc_3720)
{
    static const unsigned char read_command[48] = {0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0, 0,
                                                   0x14, 0,    0, 0, 0, 0, 4, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18,
                                                   0x28, 0,    0, 0, 0, 0, 0, 0, 2, 0, 0, 0,    0, 0, 0, 0};
    unsigned char data[32];
    check("123456789", 9, 0xE3069283);
    memset(data, 0, sizeof data);
    check(data, sizeof data, 0x8A9136AA);
    memset(data, 0xFF, sizeof data);
    check(data, sizeof data, 0x62A8AB43);
    for (int i = 0; i < 32; i++) data[i] = (unsigned char)i;
    check(data, sizeof data, 0x46DD794E);
    for (int i = 0; i < 32; i++) data[i] = (unsigned char)(31 - i);
    check(data, sizeof data, 0x113FDB5C);
    check(read_command, sizeof read_command, 0xD9963A56);
}

Test(crc32c, no_bytes_change_no_checksum)
{
    check("", 0, 0);
    check(NULL, 0, 0);
    for (int f = 0; f < 2; f++) cr_assert_eq(functions[f](0x12345678, "x", 0), 0x12345678);
}

Test(crc32c, the_processor_and_the_table_agree_at_every_length_and_alignment)
{
    unsigned char data[160];
    uint64_t state = 1;
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)rue_random_next(&state);
    for (size_t begin = 0; begin < 16; begin++)
        for (size_t bytes = 0; begin + bytes <= sizeof data; bytes++) {
            uint32_t start = (uint32_t)rue_random_next(&state);
            cr_assert_eq(rue_crc32c(start, data + begin, bytes),
                         rue_crc32c_portable(start, data + begin, bytes), "%zu bytes from %zu on", bytes,
                         begin);
        }
}

Test(crc32c, long_data_agree_too)
{
    enum { BYTES = 3 * 3 * 2048 + 100 };
    static unsigned char data[BYTES];
    uint64_t state = 2;
    for (size_t i = 0; i < BYTES; i++) data[i] = (unsigned char)rue_random_next(&state);
    for (int k = 0; k < 2000; k++) {
        size_t begin = rue_random_next(&state) % 32, bytes = rue_random_next(&state) % (BYTES - begin + 1);
        uint32_t start = (uint32_t)rue_random_next(&state);
        cr_assert_eq(rue_crc32c(start, data + begin, bytes), rue_crc32c_portable(start, data + begin, bytes),
                     "%zu bytes from %zu on", bytes, begin);
    }
}

Test(crc32c, continues_from_an_earlier_value)
{
    static const char text[] = "one sentence that is cut in two at every place";
    for (int f = 0; f < 2; f++)
        for (size_t cut = 0; cut < sizeof text; cut++)
            cr_assert_eq(functions[f](functions[f](0, text, cut), text + cut, sizeof text - cut),
                         functions[f](0, text, sizeof text), "cut at %zu", cut);
}

Test(crc32c, every_flipped_bit_shows)
{
    unsigned char data[64] = {0};
    uint32_t whole = rue_crc32c(0, data, sizeof data);
    for (size_t bit = 0; bit < 8 * sizeof data; bit++) {
        data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        cr_assert_neq(rue_crc32c(0, data, sizeof data), whole, "bit %zu", bit);
        data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}
