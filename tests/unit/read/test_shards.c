#include "note.h"
#include "shards.h"

#include <criterion/criterion.h>
#include <sys/resource.h>

#include "temporary_folder.h"

TestSuite(shards, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

static bool is_shard(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".tar") == 0;
}

static struct rue_files *open_set(const char *name)
{
    struct rue_files *set = NULL;
    rue_error error = {0};
    cr_assert_eq(rue_shards_add(temporary_path(name), is_shard, &set, &error), RUE_OK, "%s", error.message);
    return set;
}

static void expect_names(const char *name, size_t count, const char *const *names)
{
    struct rue_files *set = open_set(name);
    cr_assert_eq(rue_files_count(set), count);
    for (size_t i = 0; i < count; i++) cr_assert_str_eq(rue_files_path(set, i), temporary_path(names[i]));
    rue_files_close(set);
}

static void make_shards(void)
{
    static const char *const names[] = {"d/b.tar",  "d/a.tar", "d/a-1.tar",
                                        "d/.h.tar", "d/a.txt", "d/x.tar.part"};
    for (size_t i = 0; i < 6; i++) temporary_text(names[i], names[i]);
    mkdir(temporary_path("d/folder"), 0777);
}

Test(shards, shards_of_a_folder_are_in_bytewise_order)
{
    make_shards();
    expect_names("d", 3, (const char *const[]){"d/a-1.tar", "d/a.tar", "d/b.tar"});
    expect_names("d/a.txt", 1, (const char *const[]){"d/a.txt"});
}

Test(shards, patterns_are_lists_and_ranges_padded_as_they_are_written)
{
    static const char *const all[] = {"p-08.tar", "p-09.tar", "p-10.tar", "q-8.tar",
                                      "q-9.tar",  "q-10.tar", "x{1..2}"};
    for (size_t i = 0; i < 7; i++) temporary_text(all[i], "x");
    expect_names("p-{08..10}.tar", 3, all);
    expect_names("q-{8..10}.tar", 3, all + 3);
    expect_names("{q-9,p-08}.tar", 2, (const char *const[]){"q-9.tar", "p-08.tar"});
    expect_names("p-{0,0}{8,9}.tar", 4,
                 (const char *const[]){"p-08.tar", "p-09.tar", "p-08.tar", "p-09.tar"});
    expect_names("x{1..2}", 1, all + 6);
}

static void refuse(const char *name, rue_status status, const char *word)
{
    struct rue_files *set = NULL;
    rue_error error = {0};
    cr_assert_eq(rue_shards_add(temporary_path(name), is_shard, &set, &error), status, "%s: %s", name,
                 error.message);
    rue_files_close(set);
    cr_assert(strstr(error.message, word), "%s: %s", name, error.message);
}

Test(shards, patterns_may_be_nested)
{
    static const char *const cases[][7] = {
        {"{0,{1..2}}.tar", "0.tar", "1.tar", "2.tar"},
        {"{a,{b,c}d}-{1..2}.tar", "a-1.tar", "a-2.tar", "bd-1.tar", "bd-2.tar", "cd-1.tar", "cd-2.tar"},
        {"{{1..2},{3..4}}x.tar", "1x.tar", "2x.tar", "3x.tar", "4x.tar"},
        {"{5..5}.tar", "5.tar"},
        {"x{,y}.tar", "x.tar", "xy.tar"},
        {"{08..010}.tar", "008.tar", "009.tar", "010.tar"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t count = 0;
        while (count < 6 && cases[i][count + 1]) temporary_text(cases[i][++count], "x");
        expect_names(cases[i][0], count, cases[i] + 1);
    }
    char deep[400] = "";
    for (int i = 0; i <= 100; i++) strcat(deep, "{a,");
    refuse(deep, RUE_USAGE, "more than 100 braces");
}

Test(shards, missing_shards_and_malformed_patterns_are_refused)
{
    make_shards();
    mkdir(temporary_path("empty"), 0777);
    mkfifo(temporary_path("fifo.tar"), 0666);
    refuse("d/{a,c,e}.tar", RUE_DATA, "d/c.tar");
    refuse("nothing.tar", RUE_DATA, "nothing.tar");
    refuse("empty", RUE_DATA, "no shard");
    refuse("fifo.tar", RUE_DATA, "not a regular file");
    refuse("{d}", RUE_USAGE, "without a range");
    refuse("{{a,b}}", RUE_USAGE, "without a range");
    refuse("{1..2..}", RUE_USAGE, "without a range");
    refuse("{2..1}", RUE_USAGE, "without a range");
    refuse("{a..c}", RUE_USAGE, "without a range");
    refuse("{a,{b,c}", RUE_USAGE, "brace");
    refuse("{a,b}}", RUE_USAGE, "brace");
    refuse("{a,b", RUE_USAGE, "brace");
    refuse("{1..99999999}", RUE_USAGE, "more than 1,000,000 files");
    refuse("{0..999999999999999999}", RUE_USAGE, "more than 1,000,000 files");
    refuse("{0..999}{0..999}{0..999}{x,", RUE_USAGE, "brace");
}

static const struct rue_shard_format test_format = {.version = "test", .is_shard = is_shard};

static bool is_folder_of_shards(const char *name)
{
    bool matches, regular;
    rue_error error = {0};
    cr_assert_eq(rue_shards_probe(&test_format, temporary_path(name), &matches, &regular, &error), RUE_OK,
                 "%s", error.message);
    return matches && !regular;
}

Test(shards, a_folder_with_shards_and_without_jpeg_files_is_one_of_shards)
{
    static const char *const beside[] = {"a/notes.json", "b/_tmp/x.txt",    "c/logs/run/x.png",
                                         "d/old/b.tar",  "e/.hidden/x.jpg", "f/.x.jpg"};
    static const char *const images[] = {"g/x.jpg", "h/x.JPEG", "i/cat/1.jpeg", "j/train/cat/1.jpg"};
    char shard[] = "?/s-0.tar";
    for (size_t i = 0; i < 10; i++) {
        const char *other = i < 6 ? beside[i] : images[i - 6];
        shard[0] = other[0];
        temporary_text(other, "x");
        cr_assert_not(is_folder_of_shards(((char[]){other[0], 0})), "%s", other);
        temporary_text(shard, "x");
        cr_assert_eq(is_folder_of_shards(((char[]){other[0], 0})), i < 6, "%s", other);
    }
    mkdir(temporary_path("k"), 0777);
    mkdir(temporary_path("k/s.tar"), 0777);
    cr_assert_not(is_folder_of_shards("k"), "a folder is not a shard");
}

static rue_status read_some(struct rue_files *set, rue_error *error)
{
    char data[4];
    return rue_files_read(set, 0, data, sizeof data, 2, error);
}

Test(shards, a_shard_that_is_deleted_replaced_or_changed_is_reported_with_its_byte)
{
    static const char *const words[] = {"deleted or replaced", "deleted or replaced", "changed", "changed"};
    for (int how = 0; how < 4; how++)
        for (int before = 0; before < 2; before++) {
            rue_error error = {0};
            temporary_text("s.tar", "0123456789");
            temporary_text("other", "9876543210");
            struct rue_files *set = open_set("s.tar");
            if (before) cr_assert_eq(read_some(set, NULL), RUE_OK);
            if (how == 0) unlink(temporary_path("s.tar"));
            if (how == 1) rename(temporary_path("other"), temporary_path("s.tar"));
            if (how == 2) cr_assert_eq(truncate(temporary_path("s.tar"), 5), 0);
            if (how == 3)
                utimensat(AT_FDCWD, temporary_path("s.tar"), (struct timespec[2]){{1, 2}, {3, 4}}, 0);
            cr_assert_eq(read_some(set, &error), RUE_DATA);
            cr_assert(strstr(error.message, "s.tar at byte 2"), "%s", error.message);
            cr_assert(strstr(error.message, how == 0 && !before ? "was deleted" : words[how]), "%s",
                      error.message);
            rue_files_close(set);
        }
}

Test(shards, more_shards_than_descriptors_are_read)
{
    enum { SHARDS = 200 };
    char name[32], data[8];
    for (int i = 0; i < SHARDS; i++) {
        snprintf(name, sizeof name, "m/%03d.tar", i);
        temporary_text(name, name);
    }
    struct rlimit few = {64, 64};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct rue_files *set = open_set("m");
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < SHARDS; i++) {
            cr_assert_eq(rue_files_read(set, i, data, 5, 2, NULL), RUE_OK);
            cr_assert_eq((size_t)atoi(data), i);
        }
    rue_files_close(set);
}

/* ---- names ---- */

/* A name is bytes of a file, and its length may be anything below 2 GiB. */
Test(shards, a_name_with_a_nul_ends_there)
{
    char list[64] = "";
    rue_note_list_name(list, sizeof list, "a", 1);
    rue_note_list_name(list, sizeof list, "a\0bcdefgh", 1000000000);
    rue_note_list_name(list, sizeof list, "", 0);
    cr_assert_str_eq(list, "a");
}

Test(shards, names_are_listed_once_and_as_many_as_fit)
{
    char list[34] = "";
    const char *const names[] = {"jpg", "cls", "jp", "jpg", "", "cls", "input.jpg", "more", "even.more", "x"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        rue_note_list_name(list, sizeof list, names[i], strlen(names[i]));
    cr_assert_str_eq(list, "jpg, cls, jp, input.jpg, ...");
    list[0] = 0;
    rue_note_list_name(list, sizeof list, "longer than the list has space for", 34);
    cr_assert_str_eq(list, "...");
}

/* ---- class names ---- */

static rue_status nothing_found(const char *path, const struct rue_source_options *options,
                                struct rue_index *index, rue_error *error)
{
    (void)path, (void)options;
    return rue_index_add(index, &(struct rue_entry){0}, "one", error);
}

static rue_status open_path(const char *path, struct rue_index *index, rue_error *error)
{
    static const struct rue_shard_format format = {"test", is_shard, nothing_found};
    const struct rue_source_options options = {.read_only = true};
    return rue_shards_open(&format, temporary_path(path), &options, index, error);
}

static rue_status open_index(struct rue_index *index, rue_error *error)
{
    return open_path("s.tar", index, error);
}

static const char *class_name(const struct rue_index *index, size_t c)
{
    return index->names.text + index->classes[c];
}

static void close_index(struct rue_index *index)
{
    rue_files_close(index->files);
    free(index->entries);
    free(index->names.text);
    free(index->classes);
    *index = (struct rue_index){0};
}

Test(shards, class_names_are_lines)
{
    static const char *const names[] = {"ape", "", "bee with blanks"};
    struct rue_index index = {0};
    temporary_text("s.tar", "x");
    cr_assert_eq(open_index(&index, NULL), RUE_OK);
    cr_assert_eq(index.class_count, 0);
    close_index(&index);
    temporary_text("classes.txt", "ape\n\nbee with blanks\n");
    cr_assert_eq(open_index(&index, NULL), RUE_OK);
    cr_assert_eq(index.class_count, 3);
    for (size_t i = 0; i < 3; i++) cr_assert_str_eq(class_name(&index, i), names[i]);
    close_index(&index);
    temporary_text("classes.txt", "one\r\ntwo");
    cr_assert_eq(open_index(&index, NULL), RUE_OK);
    cr_assert(index.class_count == 2 && !strcmp(class_name(&index, 0), "one") &&
              !strcmp(class_name(&index, 1), "two"));
    close_index(&index);
    temporary_text("classes.txt", "\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo");
    cr_assert_eq(open_index(&index, NULL), RUE_OK);
    cr_assert(index.class_count == 2 && !strcmp(class_name(&index, 0), "one") &&
              !strcmp(class_name(&index, 1), "\xEF\xBB\xBFtwo"));
    close_index(&index);
    temporary_text("classes.txt", "\xEF\xBB\xBF");
    cr_assert_eq(open_index(&index, NULL), RUE_OK);
    cr_assert_eq(index.class_count, 0);
    close_index(&index);
}

Test(shards, an_invalid_list_of_class_names_is_refused)
{
    struct rue_index index = {0};
    rue_error error = {0};
    temporary_text("s.tar", "x");
    temporary_file("classes.txt", "a\0b", 3);
    cr_assert_eq(open_index(&index, &error), RUE_DATA);
    cr_assert(strstr(error.message, "classes.txt"), "%s", error.message);
    close_index(&index);
}

static void make_folder(const char *folder, const char *const *names)
{
    char path[64];
    for (size_t n = 0; names[n]; n++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[n]);
        temporary_text(path, "x");
    }
}

Test(shards, shards_that_are_missing_are_reported)
{
    static const struct {
        const char *names[6], *note;
    } sets[] = {
        {{"x-0-of-3.tar", "x-1-of-3.tar", "x-2-of-3.tar"}, NULL},
        {{"x-1-of-2.tar", "x-2-of-2.tar"}, NULL},
        {{"x-00-of-04.tar", "x-01-of-04.tar", "x-03-of-04.tar"}, "3 of 4 shards found: x-02-of-04.tar is"},
        {{"x-08-of-11.tar"}, "1 of 11 shards found: x-00-of-11.tar is"},
        {{"1-of-3.tar", "3-of-3.tar"}, "2 of 3 shards found: 2-of-3.tar is"},
        {{"a-0-of-1.tar", "b-0-of-2.tar"}, "1 of 2 shards found: b-1-of-2.tar is"},
        {{"5-of-5-0-of-2.tar"}, "1 of 2 shards found: 5-of-5-1-of-2.tar is"},
        {{"0-of-2-a.tar", "-of-2.tar", "0-of-.tar", "0-of-99999999999999999999.tar"}, NULL},
        {{"0-of-0.tar", "7-of-0.tar"}, NULL},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct rue_index index = {0};
        rue_error error = {0};
        const char folder[] = {(char)('a' + i), 0};
        make_folder(folder, sets[i].names);
        cr_assert_eq(open_path(folder, &index, &error), RUE_OK, "%s", error.message);
        cr_assert_eq(strstr(index.remarks.note, "shards found") != NULL, sets[i].note != NULL, "%zu: %s", i,
                     index.remarks.note);
        cr_assert(!sets[i].note || strstr(index.remarks.note, sets[i].note), "%s", index.remarks.note);
        close_index(&index);
    }
}

Test(shards, shards_of_an_old_and_of_a_new_run_are_refused)
{
    static const struct {
        const char *names[6], *pattern;
    } sets[] = {
        {{"x-0-of-1.tar", "x-0-of-2.tar", "x-1-of-2.tar"}, "x-{0..1}-of-2.tar"},
        {{"x-00-of-11.tar", "x-00-of-02.tar", "x-01-of-02.tar", "y-00-of-01.tar"}, "x-{00..00}-of-11.tar"},
        {{"x-1-of-2.tar", "x-2-of-2.tar", "x-1-of-3.tar", "x-2-of-3.tar", "x-3-of-3.tar"},
         "x-{1..3}-of-3.tar"},
        {{"x-0-of-2.tar", "x-1-of-2.tar", "x-00-of-02.tar", "x-01-of-02.tar"}, "of-02.tar"},
        {{"a-0-of-1.tar", "b-0-of-1.tar", "b-0-of-2.tar"}, "b-{0..0}-of-2.tar"},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct rue_index index = {0};
        rue_error error = {0};
        char folder[] = {(char)('a' + i), 0}, pattern[64];
        make_folder(folder, sets[i].names);
        cr_assert_eq(open_path(folder, &index, &error), RUE_DATA, "%zu", i);
        cr_assert(strstr(error.message, "several sets of shards") && strstr(error.message, sets[i].pattern),
                  "%s", error.message);
        close_index(&index);
        if (sets[i].pattern[0] == 'o') continue;
        snprintf(pattern, sizeof pattern, "%s/%s", folder, sets[i].pattern);
        cr_assert_eq(open_path(pattern, &index, &error), RUE_OK, "%s", error.message);
        close_index(&index);
    }
}

Test(shards, shards_of_several_names_are_reported)
{
    static const struct {
        const char *names[10], *note;
    } sets[] = {
        {{"train-000.tar", "train-001.tar", "val-000.tar"}, "2 names, such as train-000.tar and val-000.tar"},
        {{"x-test.1.tar", "x-train.1.tar", "x-val.1.tar"}, "3 names"},
        {{"00000.tar", "00001.tar", "00012.tar"}, NULL},
        {{"s-9.tar", "s-10.tar", "s-100.tar"}, NULL},
        {{"0-9x9-8.tar", "1-9x9-12.tar"}, NULL},
        {{"a.tar", "b.tar", "c.tar", "d.tar", "e.tar", "f.tar", "g.tar", "h.tar", "i.tar"}, NULL}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct rue_index index = {0};
        char folder[] = {(char)('0' + i), 0};
        make_folder(folder, sets[i].names);
        cr_assert_eq(open_path(folder, &index, NULL), RUE_OK);
        if (sets[i].note)
            cr_assert(strstr(index.remarks.note, sets[i].note), "%s", index.remarks.note);
        else
            cr_assert_str_empty(index.remarks.note, "%s", index.remarks.note);
        close_index(&index);
    }
    struct rue_index index = {0};
    cr_assert_eq(open_path("0/{train,val}-000.tar", &index, NULL), RUE_OK);
    cr_assert_str_empty(index.remarks.note, "a pattern says which are read");
    close_index(&index);
}
