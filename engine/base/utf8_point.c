#include "utf8_point.h"

#include <stddef.h>

int32_t rue_utf8_next(const char **at)
{
    static const struct {
        unsigned char mask, lead;
        int32_t least;
    } forms[] = {{0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
    const unsigned char *bytes = (const unsigned char *)*at;
    if (bytes[0] == 0) return 0;
    *at += 1;
    if (bytes[0] < 0x80) return bytes[0];
    for (size_t more = 1; more <= sizeof forms / sizeof *forms; more++) {
        if ((bytes[0] & forms[more - 1].mask) != forms[more - 1].lead) continue;
        int32_t point = bytes[0] & ~forms[more - 1].mask;
        for (size_t i = 1; i <= more; i++) {
            if ((bytes[i] & 0xC0) != 0x80) return -1;
            point = point << 6 | (bytes[i] & 0x3F);
        }
        bool surrogate = point >= 0xD800 && point <= 0xDFFF;
        if (point < forms[more - 1].least || point > 0x10FFFF || surrogate) return -1;
        *at += more;
        return point;
    }
    return -1;
}

bool rue_utf8_is_valid(const char *text)
{
    int32_t point;
    while ((point = rue_utf8_next(&text)) > 0) continue;
    return point == 0;
}
