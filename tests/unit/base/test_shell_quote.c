#include "shell_quote.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *quoted(const char *word)
{
    static char out[64];
    cr_assert_eq(rue_shell_quote(word, out, sizeof out), strlen(out));
    return out;
}

Test(shell_quote, only_special_characters_are_quoted)
{
    cr_assert_str_eq(quoted("--map=time_s=s,mode=m"), "--map=time_s=s,mode=m");
    cr_assert_str_eq(quoted("my photos"), "'my photos'");
    cr_assert_str_eq(quoted("End to end (s)"), "'End to end (s)'");
    cr_assert_str_eq(quoted("$HOME`ls`"), "'$HOME`ls`'");
    cr_assert_str_eq(quoted(""), "''");
    cr_assert_str_eq(quoted("*"), "'*'");
    cr_assert_str_eq(quoted("~"), "'~'");
}

Test(shell_quote, a_quote_closes_and_reopens_the_quotes)
{
    cr_assert_str_eq(quoted("o'brien"), "'o'\\''brien'");
    cr_assert_str_eq(quoted("'"), "''\\'''");
}

Test(shell_quote, a_word_that_does_not_fit_is_dropped)
{
    char out[] = "unchanged";
    cr_assert_eq(rue_shell_quote("a b", out, 5), 5, "the quotes and what ends the text count");
    cr_assert_str_eq(out, "");
    cr_assert_eq(rue_shell_quote("a b", out, 6), 5);
    cr_assert_str_eq(out, "'a b'");
}

/* Whatever the room, the line is whole words, and says where it was cut. */
Test(shell_quote, a_line_is_cut_after_a_word)
{
    static const char *const words[] = {"rue", "tune", "my photos", "--budget", "2m"};
    static const char whole[] = "rue tune 'my photos' --budget 2m";
    static const char *const cuts[] = {
        "...", "rue ...", "rue tune ...", "rue tune 'my photos' ...", "rue tune 'my photos' --budget ...",
        whole};
    char out[64];
    size_t cut = 0;
    for (size_t bytes = sizeof "..."; bytes <= sizeof out; bytes++) {
        memset(out, '#', sizeof out);
        rue_shell_quote_line(words, sizeof words / sizeof *words, out, bytes);
        while (cut < 5 && strcmp(out, cuts[cut]) != 0) cut++;
        cr_assert_str_eq(out, cuts[cut], "%zu bytes", bytes);
        cr_assert_lt(strlen(out), bytes);
    }
    cr_assert_str_eq(out, whole);
}
