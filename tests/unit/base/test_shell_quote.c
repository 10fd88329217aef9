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

Test(shell_quote, an_option_is_found_in_a_line)
{
    static const struct {
        const char *words[4], *value;
    } cases[] = {{{"rue", "tune", "--runner", "python3 it's.py"}, "'python3 it'\\''s.py'"},
                 {{"rue", "--runner=python3 x.py", "photos"}, "'python3 x.py'"},
                 {{"rue", "--runner=./run", "photos"}, "./run"},
                 {{"rue", "--runner-fd", "3"}, NULL},
                 {{"rue", "'a --runner b"}, NULL},
                 {{"rue", "--runner"}, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[128], out[64];
        size_t count = 0;
        while (count < 4 && cases[i].words[count]) count++;
        rue_shell_quote_line(cases[i].words, count, line, sizeof line);
        bool found = rue_shell_find_option(line, "--runner", out, sizeof out);
        cr_assert_eq(found, cases[i].value != NULL, "%s", line);
        if (found) cr_assert_str_eq(out, cases[i].value);
    }
}

Test(shell_quote, a_path_in_a_hint_is_no_option_and_always_fits)
{
    char out[RUE_SHELL_WORD_BYTES], longest[RUE_SHELL_WORD_BYTES + 1];
    cr_assert_str_eq(rue_shell_word("rue-out/photos", out), "rue-out/photos");
    cr_assert_str_eq(rue_shell_word("a b", out), "'a b'");
    cr_assert_str_eq(rue_shell_word("-x", out), "./-x");
    cr_assert_str_eq(rue_shell_word("-it's", out), "./'-it'\\''s'");
    for (size_t length = sizeof longest - 5; length < sizeof longest; length++)
        for (int first = 0; first < 3; first++) {
            memset(longest, 'a', length);
            longest[length] = 0;
            longest[0] = "a- "[first];
            size_t bytes = strlen(rue_shell_word(longest, out));
            cr_assert(bytes == 3 || bytes >= length, "%zu", bytes);
        }
}
