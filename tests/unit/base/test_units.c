#include <criterion/criterion.h>
#include <string.h>

#include "units.h"

static void expect_duration(const char *text, uint64_t ns)
{
    uint64_t got = 1;
    cr_assert(rue_parse_duration_ns(text, &got, NULL), "%s is a duration", text);
    cr_assert_eq(got, ns, "%s is %llu ns, got %llu", text, (unsigned long long)ns, (unsigned long long)got);
}

Test(units, durations_in_every_unit)
{
    expect_duration("80ns", 80);
    expect_duration("300us", 300000);
    expect_duration("250ms", 250000000);
    expect_duration("1.5s", 1500000000);
    expect_duration("300s", UINT64_C(300) * RUE_NS_PER_S);
    expect_duration("2m", UINT64_C(120) * RUE_NS_PER_S);
    expect_duration("2min", UINT64_C(120) * RUE_NS_PER_S);
    expect_duration("1h", UINT64_C(3600) * RUE_NS_PER_S);
    expect_duration("0s", 0);
    expect_duration(".5s", 500000000);
    expect_duration("0.1ns", 0);
}

Test(units, a_percentage_is_a_ratio)
{
    double ratio = 0;
    cr_assert(rue_parse_percentage("0.5%", &ratio));
    cr_assert_float_eq(ratio, 0.005, 1e-15);
    cr_assert(rue_parse_percentage("100%", &ratio));
    cr_assert_float_eq(ratio, 1, 1e-15);
    static const char *const wrong[] = {"", "%", "5", "-5%", "5 %", "5%%", "nan%", "1e2%", "0x5%"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_not(rue_parse_percentage(wrong[i], &ratio), "'%s' must be refused", wrong[i]);
}

Test(units, an_invalid_duration_is_refused)
{
    static const char *const texts[] = {
        "",     "5",   "s",      "-1s",   "+1s",        " 1s",    "1 s",
        "1s ",  "1ss", "1.2.3s", ".s",    "1e3s",       "0x10s",  "infs",
        "nans", "1S",  "1d",     "9e18s", "300000000s", "80064h", "99999999999999999999999999s",
        "1s2"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t ns;
        cr_assert_not(rue_parse_duration_ns(texts[i], &ns, NULL), "'%s' must be refused", texts[i]);
    }
}

Test(units, a_duration_may_be_followed_by_text_if_the_caller_checks_it)
{
    uint64_t ns;
    const char *end;
    cr_assert(rue_parse_duration_ns("250ms/image", &ns, &end));
    cr_assert_eq(ns, 250 * RUE_NS_PER_MS);
    cr_assert_str_eq(end, "/image");
    cr_assert(rue_parse_duration_ns("2m5s", &ns, &end));
    cr_assert_str_eq(end, "5s");
    cr_assert_not(rue_parse_duration_ns("2mx", &ns, &end), "letters belong to the unit");
}

static void expect_bytes(const char *text, uint64_t bytes)
{
    uint64_t got = 1;
    cr_assert(rue_parse_bytes(text, &got), "%s is a size", text);
    cr_assert_eq(got, bytes, "%s is %llu, got %llu", text, (unsigned long long)bytes,
                 (unsigned long long)got);
}

Test(units, sizes_are_powers_of_1024)
{
    expect_bytes("4096", 4096);
    expect_bytes("4096B", 4096);
    expect_bytes("64K", 65536);
    expect_bytes("64k", 65536);
    expect_bytes("512M", UINT64_C(512) << 20);
    expect_bytes("8G", UINT64_C(8) << 30);
    expect_bytes("8GB", UINT64_C(8) << 30);
    expect_bytes("8GiB", UINT64_C(8) << 30);
    expect_bytes("8gib", UINT64_C(8) << 30);
    expect_bytes("1.5G", UINT64_C(3) << 29);
    expect_bytes("2T", UINT64_C(2) << 40);
    expect_bytes("1P", UINT64_C(1) << 50);
    expect_bytes("256P", UINT64_C(1) << 58);
    expect_bytes("0", 0);
}

Test(units, an_invalid_size_is_refused)
{
    static const char *const texts[] = {"",    "G",    "-1",   "+1",  "8 G",  "8G ", " 8G",
                                        "8GG", "8iB",  "8Gi",  "8BG", "8X",   "8E",  "1.2.3",
                                        "0x8", "8Gb8", "257P", "8+",  "8\xeb"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t bytes;
        cr_assert_not(rue_parse_bytes(texts[i], &bytes), "'%s' must be refused", texts[i]);
    }
}

Test(units, durations_are_readable)
{
    static const struct {
        uint64_t ns;
        char text[24];
    } cases[] = {
        {0, "0 s"},
        {80, "80 ns"},
        {999, "999 ns"},
        {1000, "1 us"},
        {730000, "730 us"},
        {999600, "1 ms"},
        {12300000, "12.3 ms"},
        {999600000, "1 s"},
        {4560000000, "4.56 s"},
        {99940000000, "99.9 s"},
        {99960000000, "1 m 40 s"},
        {125000000000, "2 m 05 s"},
        {3599400000000, "59 m 59 s"},
        {3599600000000, "1 h 00 m"},
        {3840000000000, "1 h 04 m"},
        {UINT64_MAX, "5124095 h 34 m"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[RUE_UNIT_TEXT_BYTES];
        cr_assert_str_eq(rue_format_duration(cases[i].ns, text, sizeof text), cases[i].text, "got %s, not %s",
                         text, cases[i].text);
    }
}

Test(units, a_duration_in_one_unit_can_be_read_back)
{
    uint64_t random = 1;
    for (int i = 0; i < 1000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        uint64_t ns = random % (UINT64_C(90) * RUE_NS_PER_S) >> (random >> 60), got;
        char text[RUE_UNIT_TEXT_BYTES];
        rue_format_duration(ns, text, sizeof text);
        char *blank = strchr(text, ' ');
        memmove(blank, blank + 1, strlen(blank));
        cr_assert(rue_parse_duration_ns(text, &got, NULL), "%s", text);
        cr_assert_float_eq((double)got, (double)ns, 0.006 * (double)ns + 500, "%s for %llu", text,
                           (unsigned long long)ns);
    }
}

Test(units, sizes_are_written_in_powers_of_1000)
{
    static const struct {
        uint64_t count;
        char text[16];
    } cases[] = {
        {0, "0 B"},
        {5, "5 B"},
        {999, "999 B"},
        {1000, "1.0 KB"},
        {9940, "9.9 KB"},
        {9960, "10 KB"},
        {117000, "117 KB"},
        {999600, "1.0 MB"},
        {1200000000, "1.2 GB"},
        {UINT64_MAX, "18 EB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[RUE_UNIT_TEXT_BYTES];
        cr_assert_str_eq(rue_format_bytes(cases[i].count, text, sizeof text), cases[i].text, "got %s", text);
    }
}

Test(units, counts_have_thousands_separators)
{
    static const struct {
        uint64_t count;
        char text[32];
    } cases[] = {{0, "0"},
                 {999, "999"},
                 {1000, "1,000"},
                 {9469, "9,469"},
                 {123456, "123,456"},
                 {1000000, "1,000,000"},
                 {UINT64_MAX, "18,446,744,073,709,551,615"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[RUE_UNIT_TEXT_BYTES];
        cr_assert_str_eq(rue_format_count(cases[i].count, text, sizeof text), cases[i].text, "got %s", text);
    }
}

Test(units, times_do_not_hide_a_small_difference)
{
    static const struct {
        double ratio;
        char text[32];
    } cases[] = {{1, "1.00"},     {1.004, "1.004"}, {0.9961, "0.996"}, {1.0001, "1.000"},
                 {1.31, "1.31"},  {0.994, "0.99"},  {9.994, "9.99"},   {9.996, "10.0"},
                 {12.34, "12.3"}, {99.96, "100"},   {1234.5, "1234"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[RUE_UNIT_TEXT_BYTES];
        cr_assert_str_eq(rue_format_times(cases[i].ratio, text, sizeof text), cases[i].text, "got %s", text);
    }
}

Test(units, a_short_buffer_is_never_overrun)
{
    for (size_t bytes = 1; bytes < 12; bytes++) {
        char text[16];
        memset(text, '#', sizeof text);
        rue_format_count(UINT64_MAX, text, bytes);
        cr_assert_lt(strlen(text), bytes);
        cr_assert_eq(text[bytes], '#');
    }
}
