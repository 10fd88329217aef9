#include "suggest.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const words[] = {"batch-size", "num-workers", "budget", "seed", "out"};

static const char *suggested(const char *typed)
{
    const char *word = rue_suggest(typed, words, sizeof words / sizeof *words);
    return word ? word : "nothing";
}

Test(suggest, a_typing_error_finds_its_word)
{
    static const char *const cases[][2] = {
        {"batch-sise", "batch-size"},    /* another letter */
        {"bach-size", "batch-size"},     /* one missing */
        {"num-workerss", "num-workers"}, /* one too many */
        {"seed", "seed"},                /* none */
        {"sede", "seed"},                /* two swapped are one slip */
        {"butged", "budget"},            /* two of six */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_assert_str_eq(suggested(cases[i][0]), cases[i][1], "'%s' gives %s", cases[i][0],
                         suggested(cases[i][0]));
}

Test(suggest, a_beginning_of_three_letters_finds_its_word)
{
    cr_assert_str_eq(suggested("batch"), "batch-size");
    cr_assert_str_eq(suggested("num"), "num-workers");
    cr_assert_str_eq(suggested("workers"), "num-workers", "also within a word");
    cr_assert_str_eq(suggested("nu"), "nothing", "two letters say too little");
    cr_assert_str_eq(suggested("budget-of-time"), "budget", "and with more behind it");
    cr_assert_str_eq(suggested("outermost"), "nothing", "three letters of the word say too little");
}

Test(suggest, a_word_unlike_all_others_gets_no_suggestion)
{
    cr_assert_str_eq(suggested("zzzzzzzz"), "nothing");
    cr_assert_str_eq(suggested("xy"), "nothing");
    cr_assert_str_eq(suggested(""), "nothing");
}

Test(suggest, the_nearest_wins)
{
    static const char *const near[] = {"vit_b_32", "vit_b_16", "vit_l_16"};
    cr_assert_str_eq(rue_suggest("vit_b_15", near, 3), "vit_b_16");
}

Test(suggest, no_words_no_suggestion)
{
    cr_assert_null(rue_suggest("seed", words, 0));
}

Test(suggest, a_very_long_word_gets_no_short_suggestion)
{
    char typed[400];
    memset(typed, 'q', sizeof typed - 1);
    typed[sizeof typed - 1] = 0;
    cr_assert_str_eq(suggested(typed), "nothing");
}

Test(suggest, a_message_ends_with_the_suggestion)
{
    char out[RUE_SUGGESTION_BYTES];
    cr_assert_str_eq(rue_did_you_mean("sead", words, sizeof words / sizeof *words, "--", out),
                     ": did you mean '--seed'?");
    cr_assert_str_eq(rue_did_you_mean("zzzzzzzz", words, sizeof words / sizeof *words, "--", out), "");
}
