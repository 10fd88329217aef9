#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source_index.h"
#include "subset.h"
#include "temporary_folder.h"

TestSuite(subset, .init = temporary_folder_make, .fini = temporary_folder_remove);

static const char *const names[] = {"cat/1.jpg", "cat/2.jpg", "cat/3.jpg", "dog/1.jpg",  "dog/4.jpg",
                                    "dog/5.jpg", "dog/6.jpg", "fox/7.jpg", "fox/08.jpg", "9.jpg"};
static const char *const classes[] = {"cat", "dog", "fox", "owl"};

static const char *class_name(const struct rue_source *source, size_t class_index)
{
    (void)source;
    return classes[class_index];
}

static int32_t label(const struct rue_source *source, uint64_t item)
{
    (void)source;
    return item < 3 ? 0 : item < 7 ? 1 : 2;
}

static void key(const struct rue_source *source, uint64_t item, char *out, size_t bytes)
{
    (void)source;
    snprintf(out, bytes, "%s", names[item]);
}

static const struct rue_subset_data animals = {.path = "zoo",
                                               .count = 10,
                                               .has_labels = true,
                                               .class_count = 4,
                                               .class_name = class_name,
                                               .label = label,
                                               .key = key};

/* The chosen items as "5 3 1", "all", or the error. */
static const char *choose_from(const struct rue_subset_data *data, const char *text)
{
    static char out[2048];
    uint64_t *items, count;
    rue_error error = {0};
    rue_status status = rue_subset_choose(text, data, &items, &count, &error);
    out[0] = 0;
    if (status != RUE_OK) {
        cr_assert_null(items);
        snprintf(out, sizeof out, "%s", error.message);
    } else if (!items) {
        cr_assert_eq(count, data->count);
        snprintf(out, sizeof out, "all");
    }
    for (uint64_t i = 0; items && i < count; i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%d", i ? " " : "", (int)items[i]);
    free(items);
    return out;
}

static void expect(const char *text, const char *wanted)
{
    cr_expect_str_eq(choose_from(&animals, text), wanted, "%s: %s", text, choose_from(&animals, text));
}

static void expect_within(const char *text, const char *wanted)
{
    const char *got = choose_from(&animals, text);
    cr_expect(strstr(got, wanted), "%s: %s", text, got);
}

Test(subset, numbers_are_slices_in_their_order)
{
    expect("0:3", "0 1 2");
    expect("7", "7");
    expect("5,3,1", "5 3 1");
    expect("8:, 0:4:2,1", "8 9 0 2 1");
    expect(":2", "0 1");
    expect("::4", "0 4 8");
    expect("1::18446744073709551615", "1");
    expect(":", "all");
    expect("5:,:5", "5 6 7 8 9 0 1 2 3 4");
}

Test(subset, what_the_data_do_not_have_is_named)
{
    expect("0:11", "subset '0:11': item 10 does not exist: zoo has 10 items, from 0");
    expect("3,5,2:4", "subset '3,5,2:4': item 3 is given twice: remove one");
    expect("", "subset '': it is empty: give at least one item");
    expect("5:5", "subset '5:5': it chooses none of the 10 items of zoo");
    static const char *const damaged[] = {",",
                                          "1,",
                                          "1,,2",
                                          "1:2:0",
                                          "-1",
                                          "1-3",
                                          "0.5:x",
                                          "5%%",
                                          "5%,seed",
                                          "5%,seed=",
                                          "5%,seed=x",
                                          "1:2:3:4",
                                          "99999999999999999999"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        cr_expect(strstr(choose_from(&animals, damaged[i]), "expected numbers") ||
                      strstr(choose_from(&animals, damaged[i]), "no file has that name"),
                  "%s: %s", damaged[i], choose_from(&animals, damaged[i]));
}

Test(subset, shares_are_drawn_alike_everywhere_and_add_up)
{
    char one[128], other[128];
    bool seen[10] = {false};
    static const char *const same[][2] = {{"30%", "0.3"},
                                          {"30%", ":30%"},
                                          {"30%", "30%,seed=0"},
                                          {"70%:", "0.7:1.0"},
                                          {"20%:50%,seed=7", "0.2:0.5, seed=7"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        snprintf(one, sizeof one, "%s", choose_from(&animals, same[i][0]));
        expect(same[i][1], one);
    }
    expect("30%", "4 5 8"); /* the same on each machine */
    expect("30%,seed=1", "2 3 4");
    expect("100%", "all");
    expect("4%", "subset '4%': it chooses none of the 10 items of zoo");
    expect("100.1%", "subset '100.1%': a share is at most 100% (or 1.0)");
    expect("0.000000000001", "subset '0.000000000001': it chooses none of the 10 items of zoo");
    snprintf(one, sizeof one, "%s", choose_from(&animals, "30%"));
    snprintf(other, sizeof other, "%s", choose_from(&animals, "30%:"));
    for (char *list = one, *word; (word = strsep(&list, " "));) seen[atoi(word)] = true;
    for (char *list = other, *word; (word = strsep(&list, " "));) {
        cr_expect(!seen[atoi(word)]);
        seen[atoi(word)] = true;
    }
    for (size_t i = 0; i < 10; i++) cr_expect(seen[i]);
}

Test(subset, classes_have_names_or_numbers)
{
    struct rue_subset_data unnamed = animals, unlabelled = animals;
    unnamed.class_count = 0;
    unlabelled.has_labels = false;
    expect("class:cat", "0 1 2");
    expect("class:fox,0", "0 1 2 7 8 9");
    expect("class:cta", "subset 'class:cta': zoo has no class 'cta': did you mean 'cat'?");
    expect("class:4", "subset 'class:4': zoo has no class '4'");
    expect("class:1,dog", "subset 'class:1,dog': class dog is given twice: remove one");
    expect("class:owl", "subset 'class:owl': no item of zoo has the class 3");
    expect("class:", "subset 'class:': zoo has no class ''");
    cr_expect_str_eq(choose_from(&unnamed, "class:2"), "7 8 9");
    cr_expect_str_eq(choose_from(&unnamed, "class:9"), "subset 'class:9': no item of zoo has the class 9");
    cr_expect_str_eq(choose_from(&unlabelled, "class:1"), "subset 'class:1': zoo has no labels");
}

static void expect_of_file(const char *lines, const char *wanted)
{
    char text[TEMPORARY_PATH_BYTES] = "@";
    temporary_text("list", lines);
    snprintf(text + 1, sizeof text - 1, "%s", temporary_path("list"));
    const char *got = choose_from(&animals, text);
    cr_expect(strstr(got, wanted), "%s: %s", lines, got);
    cr_expect_str_eq(choose_from(&animals, text + 1), choose_from(&animals, text), "without @");
}

Test(subset, a_file_has_a_name_or_a_number_per_line)
{
    expect_of_file("5\n3\n\n1", "5 3 1");
    expect_of_file("dog/4.jpg\r\n  \n./cat/1.jpg\n", "4 0");
    expect_of_file("08.jpg\n9.jpg\n", "8 9");
    expect_of_file("dog/5\n08\nfox/7\n9.jpg\n", "5 8 7 9");
    expect_of_file("1\n9.jpg\n", "several items have the name '1'");
    expect_of_file("3\n12\n", "list line 2: item 12 does not exist: zoo has 10 items");
    expect_of_file("3\n4\n3\n", "list line 3: item 3 is given twice");
    expect_of_file("cat/2.jpg\n3\ncat/2.jpg\n", "list line 3: 'cat/2.jpg' is given twice");
    expect_of_file("2.jpg\ncat/2.jpg\n", "list line 2: item 1 is given twice");
    expect_of_file("1.jpg\n",
                   "several items have the name '1.jpg', such as items 0 and 3 (cat/1.jpg, dog/1.jpg)");
    expect_of_file("cat/2.jpg\ndig/5.jpg\n",
                   "line 2: zoo has no item 'dig/5.jpg': did you mean 'dog/5.jpg'?");
    expect_of_file("cat/2.jpg\n\nnothing at all\n",
                   "line 3: zoo has no item 'nothing at all'; its names are such as cat/1.jpg");
    expect_of_file("\n\n", "it chooses none of the 10 items");
    expect_of_file("0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n",
                   "line 11: the file has more lines than zoo has items (10)");
    expect_of_file("0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", "all");
    expect_within("@/dev/null", "/dev/null is not a regular file");
    expect_within("@absent.txt", "cannot open the subset absent.txt: No such file");
    expect_within("absent.txt", "no file has that name, and it is neither numbers");
    cr_expect_str_eq(rue_subset_path("@5"), "5");
    cr_expect_null(rue_subset_path("0:5"));
    cr_expect_null(rue_subset_path("10%,seed=5"));
    cr_expect_str_eq(rue_subset_path("10.txt"), "10.txt");
}
