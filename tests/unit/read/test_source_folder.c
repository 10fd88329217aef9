#include <criterion/criterion.h>

#include "data_fixture.h"

TestSuite(source_folder, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

/* The items must be these paths below the folder "data", in this order, NULL at the end. */
static void expect_items(const char *const names[])
{
    struct rue_source *source = data_open("data");
    uint64_t i = 0;
    for (; names[i]; i++) {
        char name[PATH_MAX], expected[PATH_MAX];
        cr_assert_lt(i, rue_source_count(source), "%s is missing", names[i]);
        rue_source_name(source, i, name, sizeof name);
        snprintf(expected, sizeof expected, "%s/data/%s", temporary_folder, names[i]);
        cr_assert_str_eq(name, expected);
    }
    cr_assert_eq(rue_source_count(source), i);
    rue_source_close(source);
}

/* The classes must be these, and the labels of the items. */
static void expect_classes(const char *const classes[], size_t count, const int32_t *labels)
{
    struct rue_source *source = data_open("data");
    cr_assert_eq(rue_source_class_count(source), count);
    for (size_t c = 0; c < count; c++) cr_assert_str_eq(rue_source_class_name(source, c), classes[c]);
    for (uint64_t i = 0; i < rue_source_count(source); i++) {
        int32_t label = rue_source_label(source, i);
        cr_assert_eq(label, labels[i], "item %d has label %d", (int)i, label);
    }
    rue_source_close(source);
}

static const char *refuse(const char *name)
{
    static rue_error error;
    struct rue_source *source;
    error = (rue_error){0};
    cr_assert_eq(rue_source_open(temporary_path(name), &(struct rue_source_options){.format = "folder"},
                                 &source, &error),
                 RUE_DATA);
    return error.message;
}

static void link_to(const char *target, const char *name)
{
    cr_assert_eq(symlink(target, temporary_path(name)), 0);
}

Test(source_folder, nested_files_have_the_class_of_their_first_folder)
{
    temporary_text("data/dog/b.jpg", "1");
    temporary_text("data/dog/deep/er/a.jpg", "2");
    temporary_text("data/cat/z.jpg", "3");
    expect_items((const char *const[]){"cat/z.jpg", "dog/b.jpg", "dog/deep/er/a.jpg", NULL});
    expect_classes((const char *const[]){"cat", "dog"}, 2, (const int32_t[]){0, 1, 1});
}

/* Python's order of names that it decodes: other bytes come after U+D7FF and before U+E000. */
Test(source_folder, classes_that_are_not_utf8_have_the_numbers_of_imagefolder)
{
    static const char *const names[] = {
        "a",         "a-",   "\xC3\xA9",     "\xED\x9F\xBF", "\x80",         "\xE2\x82",
        "\xE2\x82-", "\xE9", "\xED\xA0\x80", "\xEE\x80\x80", "\xEF\xBF\xBD", "\xF0\x9F\x8D\x8E"};
    enum { COUNT = sizeof names / sizeof *names };
    char path[PATH_MAX];
    for (int i = 0; i < COUNT; i++) {
        snprintf(path, sizeof path, "data/%s/%d.jpg", names[i], i);
        temporary_text(path, "x");
    }
    struct rue_source *source = data_open("data");
    cr_assert_eq(rue_source_class_count(source), COUNT);
    for (size_t c = 0; c < COUNT; c++)
        cr_assert_str_eq(rue_source_class_name(source, c), names[c], "class %zu", c);
    for (uint64_t i = 0; i < COUNT; i++) {
        rue_source_key(source, i, path, sizeof path);
        cr_assert_eq(rue_source_label(source, i), atoi(strrchr(path, '/') + 1), "%s", path);
    }
    rue_source_close(source);
}

Test(source_folder, flat_files_have_no_class)
{
    temporary_text("data/b.jpg", "1");
    temporary_text("data/a.jpg", "2");
    expect_items((const char *const[]){"a.jpg", "b.jpg", NULL});
    expect_classes(NULL, 0, (const int32_t[]){0, 0});
}

Test(source_folder, extensions_are_read_in_any_case)
{
    temporary_text("data/1.JPG", "");
    temporary_text("data/2.Jpeg", "");
    temporary_text("data/3.jpE", "");
    temporary_text("data/4.tif", "");
    temporary_text("data/5jpg", "");
    temporary_text("data/6.jpg.txt", "");
    temporary_text("data/7.tar.jpeg", "");
    temporary_text("data/8.png", "");
    temporary_text("data/9.WebP", "");
    temporary_text("data/a.gif", "");
    temporary_text("data/b.BMP", "");
    expect_items((const char *const[]){"1.JPG", "2.Jpeg", "3.jpE", "7.tar.jpeg", "8.png", "9.WebP", "a.gif",
                                       "b.BMP", NULL});
}

Test(source_folder, classes_are_in_the_order_of_their_names)
{
    temporary_text("data/a-b/1.jpg", "");
    temporary_text("data/a/1.jpg", "");
    temporary_text("data/a b/1.jpg", "");
    temporary_text("data/B/1.jpg", "");
    temporary_text("data/a/b/0.jpg", "");
    temporary_text("data/a/b.jpg", "");
    expect_items(
        (const char *const[]){"B/1.jpg", "a/1.jpg", "a/b/0.jpg", "a/b.jpg", "a b/1.jpg", "a-b/1.jpg", NULL});
    expect_classes((const char *const[]){"B", "a", "a b", "a-b"}, 4, (const int32_t[]){0, 1, 1, 1, 2, 3});
}

/* The note on the folder "data". */
static const char *read_note(void)
{
    static char note[2 * RUE_NOTE_BYTES];
    struct rue_source *source = data_open("data");
    rue_source_note(source, note, sizeof note);
    rue_source_close(source);
    return note;
}

Test(source_folder, files_beside_class_folders_are_skipped_and_named)
{
    temporary_text("data/stray.jpg", "");
    temporary_text("data/zebra.jpg", "");
    temporary_text("data/dog/1.jpg", "");
    expect_items((const char *const[]){"dog/1.jpg", NULL});
    expect_classes((const char *const[]){"dog"}, 1, (const int32_t[]){0});
    cr_assert_str_eq(read_note(), "files skipped: 2, such as stray.jpg, which is not in a class folder");
}

Test(source_folder, a_class_without_an_image_that_is_read_has_a_number_and_is_named)
{
    static const char *const others[] = {"b/1.tif",      "c/deep/1.PGM", "d/.1.jpg", ".e/1.jpg",
                                         "f/.g/.1.tiff", "B/x.tiff",     "h/1.ppm"};
    char path[64];
    temporary_text("data/a/1.jpg", "");
    temporary_text("data/d.x/1.jpe", "");
    temporary_text("data/z/1.jpg", "");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(path, sizeof path, "data/%s", others[i]);
        temporary_text(path, "");
    }
    expect_items((const char *const[]){"a/1.jpg", "d.x/1.jpe", "z/1.jpg", NULL});
    expect_classes((const char *const[]){".e", "B", "a", "b", "c", "d", "d.x", "f", "h", "z"}, 10,
                   (const int32_t[]){2, 6, 9});
    cr_assert(strstr(read_note(), "classes without an image that is read: 7, such as "), "%s", read_note());
    cr_assert(strstr(read_note(), "numbers as in ImageFolder"), "%s", read_note());
}

Test(source_folder, a_link_without_a_target_or_to_the_data_can_be_a_class)
{
    temporary_text("data/b/1.jpg", "");
    temporary_text("data/c/1.jpg", "");
    cr_assert_eq(mkdir(temporary_path("data/a"), 0777), 0);
    link_to("nowhere", "data/a/1.jpg");
    link_to(".", "data/c.x");
    expect_classes((const char *const[]){"a", "b", "c", "c.x"}, 4, (const int32_t[]){1, 2});
}

Test(source_folder, flat_files_beside_other_images_have_no_class)
{
    temporary_text("data/1.jpg", "");
    temporary_text("data/thumbs/1.tif", "");
    expect_classes(NULL, 0, (const int32_t[]){0});
}

Test(source_folder, hidden_files_are_not_items)
{
    temporary_text("data/a/.1.jpg", "");
    temporary_text("data/a/2.jpg", "");
    temporary_text("data/.cache/3.jpg", "");
    temporary_text("data/a/.deep/4.jpg", "");
    link_to("..", "data/.loop");
    expect_items((const char *const[]){"a/2.jpg", NULL});
}

Test(source_folder, a_hidden_folder_given_by_name_is_read)
{
    temporary_text(".data/1.jpg", "");
    struct rue_source *source = data_open(".data");
    cr_assert_eq(rue_source_count(source), 1);
    rue_source_close(source);
}

Test(source_folder, folders_without_images_do_not_become_classes)
{
    temporary_text("data/a/notes.txt", "");
    temporary_text("data/b/1.jpg", "");
    temporary_text("data/.git/x", "");
    cr_assert_eq(mkdir(temporary_path("data/c"), 0777), 0);
    expect_classes((const char *const[]){"b"}, 1, (const int32_t[]){0});
    cr_assert(strstr(read_note(), "folders without an image: 2, such as a, which are not classes"), "%s",
              read_note());
}

Test(source_folder, an_empty_folder_is_refused)
{
    cr_assert_eq(mkdir(temporary_path("data"), 0777), 0);
    const char *message = refuse("data");
    cr_assert(strstr(message, "/data is empty"), "%s", message);
}

Test(source_folder, a_folder_without_images_is_refused_with_a_count)
{
    temporary_text("data/a.tif", "");
    temporary_text("data/sub/b.avif", "");
    const char *message = refuse("data");
    cr_assert(strstr(message, "holds no image"), "%s", message);
    cr_assert(strstr(message, "among 2 files, such as ") && strstr(message, ": convert the images, or"), "%s",
              message);
}

Test(source_folder, symbolic_links_are_followed)
{
    temporary_text("elsewhere/1.jpg", "12345");
    temporary_text("data/a/2.jpg", "1");
    link_to("../elsewhere", "data/b");
    link_to("2.jpg", "data/a/3.jpg");
    expect_items((const char *const[]){"a/2.jpg", "a/3.jpg", "b/1.jpg", NULL});
    struct rue_source *source = data_open("data");
    cr_assert_eq(rue_source_bytes(source, 2), 5, "the size is that of the file, not of the link");
    rue_source_close(source);
    link_to("data", "link");
    source = data_open("link");
    cr_assert_eq(rue_source_count(source), 3, "the folder itself may be a link");
    rue_source_close(source);
}

Test(source_folder, links_to_parent_folders_are_skipped_and_named)
{
    char example[256];
    temporary_text("data/a/1.jpg", "");
    link_to("..", "data/a/up");
    link_to("a", "data/b");
    struct rue_source *source = data_open("data");
    cr_assert_eq(rue_source_count(source), 2, "b is a class of its own, as in ImageFolder");
    cr_assert_eq(rue_source_class_count(source), 2);
    cr_assert_eq(rue_source_skipped(source), 2);
    rue_source_note(source, example, sizeof example);
    cr_assert(strstr(example, "/up, a link to a folder that is read already"), "%s", example);
    rue_source_close(source);
}

/* Each level has two links to the level below: without a limit 2^30 images. */
Test(source_folder, each_class_reads_a_folder_once_whatever_links_lead_to_it)
{
    char name[64], target[64] = "base";
    temporary_text("base/1.jpg", "");
    for (int level = 0; level < 30; level++) {
        snprintf(name, sizeof name, "level%d", level);
        cr_assert_eq(mkdir(temporary_path(name), 0777), 0);
        for (const char *way = "ab"; *way; way++) {
            char link[80], to[80];
            snprintf(link, sizeof link, "%s/%c", name, *way);
            snprintf(to, sizeof to, "../%s", target);
            link_to(to, link);
        }
        snprintf(target, sizeof target, "%s", name);
    }
    cr_assert_eq(mkdir(temporary_path("data"), 0777), 0);
    link_to("../level29", "data/x");
    link_to("../level29", "data/y");
    struct rue_source *source = data_open("data");
    cr_assert_eq(rue_source_count(source), 2);
    cr_assert_eq(rue_source_skipped(source), 2 * 30);
    cr_assert(rue_source_label(source, 0) == 0 && rue_source_label(source, 1) == 1);
    rue_source_close(source);
}

Test(source_folder, a_folder_is_read_by_its_own_name_before_links)
{
    temporary_text("data/a/z/1.jpg", "");
    temporary_text("data/a/z/y/1.jpg", "");
    link_to("z", "data/a/b");
    link_to("z/y", "data/a/c");
    link_to("a/z", "data/w");
    expect_items((const char *const[]){"a/z/1.jpg", "a/z/y/1.jpg", "w/1.jpg", "w/y/1.jpg", NULL});
    cr_assert(strstr(read_note(), "files skipped: 2, such as "), "%s", read_note());
}

Test(source_folder, a_path_that_is_too_long_is_an_error)
{
    char part[NAME_MAX + 1];
    rue_error error = {0};
    struct rue_source *source;
    memset(part, 'x', NAME_MAX);
    part[NAME_MAX] = 0;
    mkdir(temporary_path("data"), 0777);
    int folder = open(temporary_path("data"), O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < PATH_MAX / NAME_MAX + 1; i++) {
        cr_assert_eq(mkdirat(folder, part, 0777), 0);
        int deeper = openat(folder, part, O_RDONLY | O_DIRECTORY);
        close(folder);
        folder = deeper;
    }
    close(folder);
    cr_assert_eq(rue_source_open(temporary_path("data"), NULL, &source, &error), RUE_DATA);
    cr_assert(strstr(error.message, "File name too long"), "%s", error.message);
}

Test(source_folder, a_slash_at_the_end_has_no_effect)
{
    temporary_text("data/a/1.jpg", "");
    struct rue_source *plain = data_open("data"), *slash = data_open("data/"), *more = data_open("data///");
    cr_assert_eq(rue_source_digest(plain), rue_source_digest(slash));
    cr_assert_eq(rue_source_digest(plain), rue_source_digest(more));
    rue_source_close(plain);
    rue_source_close(slash);
    rue_source_close(more);
}

Test(source_folder, names_may_contain_any_bytes)
{
    static const char *const names[] = {"a b/c d.jpg", "gr\xc3\xbc\xc3\x9f/\xe2\x98\x83.jpg",
                                        "latin/\xe9\xff.jpg", "new\nline/1.jpg", NULL};
    char path[96];
    for (int i = 0; names[i]; i++) {
        snprintf(path, sizeof path, "data/%s", names[i]);
        temporary_text(path, "bytes");
    }
    expect_items((const char *const[]){names[0], names[1], names[2], names[3], NULL});
    struct rue_source *source = data_open("data");
    for (uint64_t i = 0; i < rue_source_count(source); i++) {
        char bytes[5];
        cr_assert_eq(rue_source_read(source, i, bytes, NULL), RUE_OK);
        cr_assert_eq(memcmp(bytes, "bytes", 5), 0);
    }
    rue_source_close(source);
}

Test(source_folder, a_relative_path_is_read_below_the_current_folder)
{
    temporary_text("data/a/1.jpg", "x");
    cr_assert_eq(chdir(temporary_path("data")), 0);
    struct rue_source *source;
    cr_assert_eq(rue_source_open(".", NULL, &source, NULL), RUE_OK);
    char byte, name[PATH_MAX];
    rue_source_name(source, 0, name, sizeof name);
    cr_assert_str_eq(name, "./a/1.jpg");
    cr_assert_eq(rue_source_read(source, 0, &byte, NULL), RUE_OK);
    rue_source_close(source);
    cr_assert_eq(chdir("/"), 0);
}

/* What reading the only item says after the folder was indexed and `change` happened to its file. */
static const char *read_after(void (*change)(const char *path))
{
    static rue_error error;
    char into[64];
    temporary_text("data/a/1.jpg", "12345678");
    struct rue_source *source = data_open("data");
    change(temporary_path("data/a/1.jpg"));
    error = (rue_error){0};
    cr_assert_eq(rue_source_read(source, 0, into, &error), RUE_DATA);
    rue_source_close(source);
    cr_assert(strstr(error.message, temporary_path("data/a/1.jpg")), "%s", error.message);
    return error.message;
}

static void delete (const char *path)
{
    unlink(path);
}

static void grow(const char *path)
{
    cr_assert_eq(truncate(path, 9), 0);
}

static void shrink(const char *path)
{
    cr_assert_eq(truncate(path, 7), 0);
}

static void replace_by_fifo(const char *path)
{
    unlink(path);
    cr_assert_eq(mkfifo(path, 0666), 0);
}

static void replace_by_folder(const char *path)
{
    unlink(path);
    cr_assert_eq(mkdir(path, 0777), 0);
}

Test(source_folder, a_removed_file_is_an_error)
{
    cr_assert(strstr(read_after(delete), "No such file"));
}

Test(source_folder, a_file_that_changed_its_size_is_an_error)
{
    cr_assert(strstr(read_after(grow), "changed since"));
    temporary_folder_remove();
    temporary_folder_make();
    cr_assert(strstr(read_after(shrink), "changed since"));
}

Test(source_folder, a_fifo_or_folder_with_its_name_is_an_error_at_once)
{
    cr_assert(strstr(read_after(replace_by_fifo), "changed since"));
    temporary_folder_remove();
    temporary_folder_make();
    cr_assert(strstr(read_after(replace_by_folder), "changed since"));
}

static uint64_t digest(void)
{
    struct rue_source *source = data_open("data");
    uint64_t value = rue_source_digest(source);
    rue_source_close(source);
    return value;
}

Test(source_folder, the_digest_is_that_of_names_and_sizes)
{
    temporary_text("data/a/1.jpg", "12345678");
    temporary_text("data/a/2.jpg", "1");
    uint64_t first = digest();
    cr_assert_eq(digest(), first, "it stays the same");
    temporary_text("data/a/1.jpg", "87654321");
    cr_assert_eq(digest(), first, "contents are not read");
    cr_assert_eq(rename(temporary_path("data/a/1.jpg"), temporary_path("data/a/3.jpg")), 0);
    uint64_t renamed = digest();
    cr_assert_neq(renamed, first, "renamed");
    cr_assert_eq(rename(temporary_path("data/a/3.jpg"), temporary_path("data/a/1.jpg")), 0);
    cr_assert_eq(digest(), first, "renamed back");
    temporary_text("data/a/1.jpg", "123456789");
    cr_assert_neq(digest(), first, "resized");
    temporary_text("data/a/1.jpg", "12345678");
    temporary_text("data/b/1.jpg", "");
    cr_assert_neq(digest(), first, "one more");
    cr_assert_eq(rename(temporary_path("data"), temporary_path("moved")), 0);
    temporary_text("data/a/1.jpg", "12345678");
    temporary_text("data/a/2.jpg", "1");
    cr_assert_eq(digest(), first, "the same files elsewhere are the same data");
}
