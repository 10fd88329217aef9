#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "label_words.h"

static uint64_t place;

static struct rue_label_words *make(const char *const *texts, const char *const *names)
{
    struct rue_label_words *words;
    cr_assert_eq(rue_label_words_open(&words, NULL), RUE_OK);
    for (size_t i = 0; texts[i]; i++) {
        cr_assert_eq(rue_label_words_add(words, texts[i], strlen(texts[i]), 2 * i, NULL), RUE_OK);
        if (names && names[i]) cr_assert_eq(rue_label_words_name(words, names[i], NULL), RUE_OK);
    }
    return words;
}

Test(label_words, integers_are_numbers)
{
    struct rue_label_words *words = make((const char *const[]){"3", "-1", "2147483647", "3", NULL}, NULL);
    cr_assert_eq(rue_label_words_finish(words, &place, NULL), RUE_OK);
    cr_assert_eq(rue_label_words_class_count(words), 0);
    cr_assert_eq(rue_label_words_label(words, 0), 3);
    cr_assert_eq(rue_label_words_label(words, 1), -1);
    cr_assert_eq(rue_label_words_label(words, 2), INT32_MAX);
    rue_label_words_close(words);
}

Test(label_words, a_word_among_numbers_is_an_error_that_tells_its_place)
{
    struct rue_label_words *words = make((const char *const[]){"7", "7", "10", "cat", "cat", NULL}, NULL);
    rue_error error = {0};
    cr_assert_eq(rue_label_words_finish(words, &place, &error), RUE_DATA);
    cr_assert(strstr(error.message, "'cat' is no whole number, though most are"), "%s", error.message);
    cr_assert_eq(place, 6);
    rue_label_words_close(words);
}

Test(label_words, where_no_more_are_integers_all_of_them_are_words)
{
    static const char *const odd[] = {"a", "1.0", "2147483648", "+1", " 1", "", "0x1", "-"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct rue_label_words *words = make((const char *const[]){"7", odd[i], "10", "b", NULL}, NULL);
        cr_assert_eq(rue_label_words_finish(words, &place, NULL), RUE_OK);
        cr_assert_eq(rue_label_words_class_count(words), 4, "'%s'", odd[i]);
        for (size_t item = 0; item < 3; item++) {
            const char *text = item == 0 ? "7" : item == 1 ? odd[i] : "10";
            size_t label = (size_t)rue_label_words_label(words, item);
            cr_assert_str_eq(rue_label_words_class(words, label), text);
            cr_assert(label == 0 || strcmp(rue_label_words_class(words, label - 1), text) < 0, "bytewise");
        }
        rue_label_words_close(words);
    }
}

Test(label_words, numbers_may_be_given_the_names_of_their_classes)
{
    struct rue_label_words *words = make((const char *const[]){"2", "0", "2", "-1", NULL},
                                         (const char *const[]){"cat", "10", "cat", NULL});
    rue_error error = {0};
    cr_assert_eq(rue_label_words_name(words, "none", &error), RUE_DATA);
    cr_assert(strstr(error.message, "no class has the number -1"));
    cr_assert_eq(rue_label_words_finish(words, &place, NULL), RUE_OK);
    cr_assert_eq(rue_label_words_class_count(words), 3);
    cr_assert_str_eq(rue_label_words_class(words, 0), "10");
    cr_assert_str_eq(rue_label_words_class(words, 1), "");
    cr_assert_str_eq(rue_label_words_class(words, 2), "cat");
    rue_label_words_close(words);
}

Test(label_words, a_class_of_two_names_is_an_error_and_so_is_a_word_with_one)
{
    struct rue_label_words *words =
        make((const char *const[]){"2", "2", NULL}, (const char *const[]){"cat", NULL});
    rue_error error = {0};
    cr_assert_eq(rue_label_words_name(words, "dog", &error), RUE_DATA);
    cr_assert(strstr(error.message, "class 2 is called 'cat' and 'dog'"), "%s", error.message);
    rue_label_words_close(words);
    error = (rue_error){0};
    words = make((const char *const[]){"a", NULL}, (const char *const[]){"cat"});
    cr_assert_eq(rue_label_words_finish(words, &place, &error), RUE_DATA);
    cr_assert(strstr(error.message, "'a' is no number"), "%s", error.message);
    rue_label_words_close(words);
}

Test(label_words, many_words_are_told_apart)
{
    enum { WORDS = 5000 };
    struct rue_label_words *words;
    char text[16];
    cr_assert_eq(rue_label_words_open(&words, NULL), RUE_OK);
    for (int i = 0; i < 3 * WORDS; i++) {
        snprintf(text, sizeof text, "w%05d", i * 7 % WORDS);
        cr_assert_eq(rue_label_words_add(words, text, strlen(text), 0, NULL), RUE_OK);
    }
    cr_assert_eq(rue_label_words_finish(words, &place, NULL), RUE_OK);
    cr_assert_eq(rue_label_words_class_count(words), WORDS);
    for (int i = 0; i < 3 * WORDS; i++)
        cr_assert_eq(rue_label_words_label(words, (uint64_t)i), i * 7 % WORDS);
    rue_label_words_close(words);
}
