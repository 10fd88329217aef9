#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "label_words.h"

static uint64_t place;

static struct rue_label_words words;
static struct rue_index of;

static void add(const char *text, const char *name)
{
    struct rue_entry entry = {0};
    rue_status status = rue_label_words_add(&words, text, strlen(text), 2 * of.count, &entry.label, NULL);
    cr_assert_eq(status, RUE_OK);
    if (name) cr_assert_eq(rue_label_words_name(&words, entry.label, name, NULL), RUE_OK);
    cr_assert_eq(rue_index_add(&of, &entry, "", NULL), RUE_OK);
}

static void make(const char *const *texts, const char *const *names)
{
    for (size_t i = 0; texts[i]; i++) add(texts[i], names ? names[i] : NULL);
}

static void clear(void)
{
    rue_label_words_close(&words);
    free(of.entries);
    free(of.names.text);
    free(of.classes);
    of = (struct rue_index){0};
}

static const char *class_name(size_t c)
{
    return of.names.text + of.classes[c];
}

Test(label_words, integers_are_numbers)
{
    make((const char *const[]){"3", "-1", "2147483647", "3", NULL}, NULL);
    cr_assert_eq(rue_label_words_finish(&words, &of, &place, NULL), RUE_OK);
    cr_assert_eq(of.class_count, 0);
    cr_assert_eq(of.entries[0].label, 3);
    cr_assert_eq(of.entries[1].label, -1);
    cr_assert_eq(of.entries[2].label, INT32_MAX);
    clear();
}

Test(label_words, a_word_among_numbers_is_an_error_that_tells_its_place)
{
    make((const char *const[]){"7", "7", "10", "cat", "cat", NULL}, NULL);
    rue_error error = {0};
    cr_assert_eq(rue_label_words_finish(&words, &of, &place, &error), RUE_DATA);
    cr_assert(strstr(error.message, "'cat' is no whole number, though most are"), "%s", error.message);
    cr_assert_eq(place, 6);
    clear();
}

Test(label_words, where_no_more_are_integers_all_of_them_are_words)
{
    static const char *const odd[] = {"a", "1.0", "2147483648", "+1", " 1", "", "0x1", "-"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        make((const char *const[]){"7", odd[i], "10", "b", NULL}, NULL);
        cr_assert_eq(rue_label_words_finish(&words, &of, &place, NULL), RUE_OK);
        cr_assert_eq(of.class_count, 4, "'%s'", odd[i]);
        for (size_t item = 0; item < 3; item++) {
            const char *text = item == 0 ? "7" : item == 1 ? odd[i] : "10";
            size_t label = (size_t)of.entries[item].label;
            cr_assert_str_eq(class_name(label), text);
            cr_assert(label == 0 || strcmp(class_name(label - 1), text) < 0, "bytewise");
        }
        clear();
    }
}

Test(label_words, numbers_may_be_given_the_names_of_their_classes)
{
    make((const char *const[]){"2", "0", "2", "-1", NULL}, (const char *const[]){"cat", "10", "cat", NULL});
    rue_error error = {0};
    cr_assert_eq(rue_label_words_name(&words, of.entries[3].label, "none", &error), RUE_DATA);
    cr_assert(strstr(error.message, "no class has the number -1"));
    cr_assert_eq(rue_label_words_finish(&words, &of, &place, NULL), RUE_OK);
    cr_assert_eq(of.class_count, 3);
    cr_assert_str_eq(class_name(0), "10");
    cr_assert_str_eq(class_name(1), "");
    cr_assert_str_eq(class_name(2), "cat");
    clear();
}

Test(label_words, a_class_of_two_names_is_an_error_and_so_is_a_word_with_one)
{
    make((const char *const[]){"2", "2", NULL}, (const char *const[]){"cat", NULL});
    rue_error error = {0};
    cr_assert_eq(rue_label_words_name(&words, of.entries[1].label, "dog", &error), RUE_DATA);
    cr_assert(strstr(error.message, "class 2 is called 'cat' and 'dog'"), "%s", error.message);
    clear();
    error = (rue_error){0};
    make((const char *const[]){"a", NULL}, (const char *const[]){"cat"});
    cr_assert_eq(rue_label_words_finish(&words, &of, &place, &error), RUE_DATA);
    cr_assert(strstr(error.message, "'a' is no number"), "%s", error.message);
    clear();
}

Test(label_words, many_words_are_told_apart)
{
    enum { WORDS = 5000 };
    char text[16];
    for (int i = 0; i < 3 * WORDS; i++) {
        snprintf(text, sizeof text, "w%05d", i * 7 % WORDS);
        add(text, NULL);
    }
    cr_assert_eq(rue_label_words_finish(&words, &of, &place, NULL), RUE_OK);
    cr_assert_eq(of.class_count, WORDS);
    for (int i = 0; i < 3 * WORDS; i++) cr_assert_eq(of.entries[(uint64_t)i].label, i * 7 % WORDS);
    clear();
}
