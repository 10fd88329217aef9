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

Test(wrap, breaks_inside_a_word_only_when_it_is_too_long)
{
    expect_wrapped("a abcdefgh b", 4, 0, "a\nabcd\nefgh\nb");
    expect_wrapped("größerals", 4, 0, "größ\neral\ns");
}
