#include <criterion/criterion.h>
#include <stdlib.h>

#include "wrap.h"

static void expect_wrapped(const char *text, int columns, int indent, const char *expected)
{
    char *out = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&out, &bytes);
    rue_wrap(stream, text, columns, indent);
    fclose(stream);
    cr_assert_str_eq(out, expected);
    free(out);
}

Test(wrap, breaks_at_spaces_that_may_break)
{
    expect_wrapped("one two three", 7, 0, "one two\nthree");
    expect_wrapped("one two three", 0, 0, "one two three");
    expect_wrapped("costs 2.0" RUE_NO_BREAK "% more", 9, 0, "costs\n2.0 %\nmore");
    expect_wrapped("one two", 5, 2, "  one\n  two");
    expect_wrapped("", 5, 2, "  ");
}

Test(wrap, breaks_only_words_that_are_too_long)
{
    expect_wrapped("a abcdefgh b", 4, 0, "a\nabcd\nefgh\nb");
    expect_wrapped("größerals", 4, 0, "größ\neral\ns");
}

static void expect_item(const char *label, const char *text, int columns, const char *expected)
{
    char *out = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&out, &bytes);
    rue_wrap_item(stream, label, text, columns, 10);
    fclose(stream);
    cr_assert_str_eq(out, expected);
    free(out);
}

Test(wrap, a_label_is_beside_its_text)
{
    expect_item("  --seed", "of what is random, whatever it may be", 40,
                "  --seed  of what is random, whatever it\n          may be");
    expect_item("  --seed", "of what is random", 0, "  --seed  of what is random");
}

Test(wrap, a_long_label_is_above_its_text)
{
    expect_item("  --budget TIME", "for all", 40, "  --budget TIME\n          for all");
    expect_item("12345678", "text", 40, "12345678  text");
    expect_item("1234567890", "text", 40, "1234567890\n          text");
}

Test(wrap, a_narrow_window_has_every_text_below_its_label)
{
    expect_item("  --seed", "of what is random, whatever", 24,
                "  --seed\n      of what is random,\n      whatever");
}

Test(wrap, wide_characters_count_as_two_columns_of_a_label)
{
    expect_item("日本語", "text", 40, "日本語    text");
}
