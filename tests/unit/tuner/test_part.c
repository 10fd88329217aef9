#include <criterion/criterion.h>
#include <errno.h>
#include <sys/file.h>

#include "part.h"
#include "temporary_folder.h"

TestSuite(part, .init = temporary_folder_make, .fini = temporary_folder_remove);

static void expect_named(const char *name)
{
    const char *prefix = temporary_path(".rue-");
    cr_assert(strncmp(name, prefix, strlen(prefix)) == 0, "%s", name);
    cr_assert_eq(strlen(name), strlen(prefix) + 6);
}

static int make(const char *path, char name[RUE_PART_BYTES])
{
    return rue_part_open(temporary_path(path), name);
}

/* Puts a text into a part; returns its path, valid until the next call. */
static const char *put(const char *part, const char *name)
{
    static char path[RUE_PART_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", part, name);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs("text", file) >= 0 && fclose(file) == 0);
    return path;
}

Test(part, is_beside_its_destination_with_access_only_for_its_owner)
{
    char folder[RUE_PART_BYTES];
    struct stat about;
    int fd = make("x", folder);
    cr_assert(fd >= 0);
    expect_named(folder);
    cr_assert(stat(folder, &about) == 0 && S_ISDIR(about.st_mode) && (about.st_mode & 0777) == 0700);
    rue_part_remove(folder);
    close(fd);
    cr_assert_eq(temporary_entries(), 0);
}

Test(part, of_a_running_process_is_kept)
{
    char first[RUE_PART_BYTES], second[RUE_PART_BYTES], third[RUE_PART_BYTES];
    int one = make("x", first), two = make("x", second), three = rue_part_open(temporary_path("x"), third);
    cr_assert(one >= 0 && two >= 0 && three >= 0);
    cr_assert(access(first, F_OK) == 0 && access(second, F_OK) == 0);
    cr_assert(strcmp(first, third) != 0 && strcmp(second, third) != 0);
    close(one);
    close(two);
    close(three);
}

Test(part, of_an_ended_process_is_removed)
{
    char left[RUE_PART_BYTES], other[RUE_PART_BYTES], below[RUE_PART_BYTES + 8], mine[RUE_PART_BYTES];
    int held = make("x", left), of_other = make("y", other);
    snprintf(below, sizeof below, "%s/class", left);
    cr_assert_eq(mkdir(below, 0777), 0);
    put(below, "file");
    close(held);
    close(of_other);
    int fd = make("x", mine);
    cr_assert(fd >= 0 && access(left, F_OK) != 0, "with all that is in it");
    cr_assert_eq(access(other, F_OK), 0, "it is for something else");
    rue_part_sweep(temporary_path("y"));
    cr_assert_eq(access(other, F_OK), -1);
    close(fd);
}

/* Removed is only what has the mark of that very folder: nothing by its name alone. */
Test(part, of_another_user_is_never_removed)
{
    char left[RUE_PART_BYTES], copy[RUE_PART_BYTES], text[1024], mine[RUE_PART_BYTES];
    int held = make("x", left);
    close(held);
    snprintf(text, sizeof text, "%s/" RUE_PART_MARK, left);
    FILE *file = fopen(text, "r");
    cr_assert(file && fgets(text, sizeof text, file));
    size_t length = strlen(text);
    cr_assert(fgets(text + length, (int)(sizeof text - length), file));
    fclose(file);
    temporary_text(".rue-abcdef/" RUE_PART_MARK, text); /* a copy of a leftover */
    temporary_text(".rue-backup/x", "no mark");
    temporary_text(".rue-inlink/x", "a folder that a link leads to");
    snprintf(copy, sizeof copy, "%s", temporary_path(".rue-linked"));
    cr_assert_eq(symlink(left, copy), 0);
    temporary_text(".rue-abcdee", "a file");
    temporary_text("x.part-abcdef/data", "the name that an older rue gave it");
    cr_assert_eq(rename(left, temporary_path("moved")), 0);
    cr_assert_eq(unlink(copy), 0);
    cr_assert_eq(symlink(temporary_path("moved"), copy), 0);
    int before = temporary_entries();
    int fd = rue_part_open(temporary_path("x"), mine);
    cr_assert(fd >= 0);
    expect_named(mine);
    rue_part_remove(mine);
    close(fd);
    rue_part_sweep(temporary_path("x"));
    cr_assert_eq(temporary_entries(), before);
    static const char *const kept[] = {".rue-abcdef/" RUE_PART_MARK, ".rue-backup/x", ".rue-inlink/x",
                                       ".rue-linked/" RUE_PART_MARK, ".rue-abcdee",   "x.part-abcdef/data",
                                       "moved/" RUE_PART_MARK};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        cr_assert_eq(access(temporary_path(kept[i]), F_OK), 0, "%s", kept[i]);
}

Test(part, a_missing_folder_is_an_error)
{
    char name[RUE_PART_BYTES];
    cr_assert_eq(make("no/such", name), -1);
    cr_assert(errno == ENOENT && !name[0]);
    rue_part_remove(name);
}

static rue_status publish(const char *name, bool overwrite, rue_error *error)
{
    char from[TEMPORARY_PATH_BYTES];
    temporary_text("part/data", "new");
    snprintf(from, sizeof from, "%s", temporary_path("part/data"));
    return rue_part_publish(from, temporary_path(name), overwrite, error);
}

static void expect_text(const char *name, const char *text)
{
    size_t bytes;
    unsigned char *found = temporary_read(name, &bytes);
    cr_assert(bytes == strlen(text) && memcmp(found, text, bytes) == 0);
    free(found);
}

Test(part, a_destination_that_appeared_later_is_not_replaced)
{
    rue_error error = {0};
    cr_assert_eq(publish("out", false, NULL), RUE_OK);
    expect_text("out", "new");
    temporary_text("taken", "precious");
    cr_assert_eq(publish("taken", false, &error), RUE_STORE);
    cr_assert(strstr(error.message, "/taken"), "%s", error.message);
    expect_text("taken", "precious");
    cr_assert_eq(publish("taken", true, NULL), RUE_OK);
    expect_text("taken", "new");
    temporary_text("folder/file", "precious");
    cr_assert_eq(publish("folder", true, NULL), RUE_STORE);
    expect_text("folder/file", "precious");
}

Test(part, a_tree_is_removed_without_following_links)
{
    char part[RUE_PART_BYTES], path[RUE_PART_BYTES + 64];
    temporary_text("precious/file", "x");
    int held = make("x", part);
    const char *const folders[] = {"a", "a/b", "a/b/c", "d", "empty"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", part, folders[i]);
        cr_assert_eq(mkdir(path, 0777), 0);
        for (int n = 0; n < 300 && i < 4; n++) {
            snprintf(path, sizeof path, "%s/%s/%d", part, folders[i], n);
            cr_assert_eq(symlink("../precious", path), 0);
        }
    }
    close(held);
    rue_part_remove(part);
    cr_assert(access(part, F_OK) != 0 && errno == ENOENT);
    cr_assert_eq(access(temporary_path("precious/file"), F_OK), 0);
}
