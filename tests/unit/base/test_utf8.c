#include <criterion/criterion.h>

#include "utf8.h"

static void expect_short(const char *text, int width, bool unicode, const char *expected)
{
    char out[128];
    rue_utf8_shorten(text, width, unicode, out, sizeof out);
    cr_assert_str_eq(out, expected);
}

Test(utf8, shortens_in_the_middle)
{
    expect_short("efficientnet_v2_s", 17, true, "efficientnet_v2_s");
    expect_short("efficientnet_v2_s", 10, true, "effic…v2_s");
    expect_short("efficientnet_v2_s", 10, false, "effi...2_s");
    expect_short("abc", 2, false, "ab");
    expect_short("abc", 0, true, "");
    expect_short("模型模型", 5, true, "模…型");
}

Test(utf8, counts_columns_not_bytes)
{
    cr_assert_eq(rue_utf8_width("größe"), 5);
    cr_assert_eq(rue_utf8_width("模型"), 4);
    cr_assert_eq(rue_utf8_width("e\xCC\x81"), 1, "a combining accent has no column");
    cr_assert_eq(rue_utf8_width("\xff\xfe"), 2);
}

Test(utf8, replaces_control_characters)
{
    char out[64];
    rue_utf8_clean("a\033[2J\n\xff ü\xC2\x9B", true, out, sizeof out);
    cr_assert_str_eq(out, "a?[2J?? ü?");
    rue_utf8_clean("größe", false, out, sizeof out);
    cr_assert_str_eq(out, "gr??e");
    rue_utf8_clean("größe", true, out, 4);
    cr_assert_str_eq(out, "gr", "no half characters");
}

Test(utf8, refuses_overlong_and_surrogate_sequences)
{
    static const char *const bad[] = {"\xC0\xAF",         "\xE0\x80\xAF", "\xED\xA0\x80",
                                      "\xF4\x90\x80\x80", "\xE2\x82",     "\x80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *at = bad[i];
        cr_assert_eq(rue_utf8_next(&at), -1, "case %zu", i);
        cr_assert_eq(at, bad[i] + 1, "case %zu", i);
        cr_assert_not(rue_utf8_is_valid(bad[i]), "case %zu", i);
    }
}
