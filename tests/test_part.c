#include <criterion/criterion.h>
#include <errno.h>
#include <sys/file.h>

#include "part.h"
#include "temporary_folder.h"

TestSuite(part, .init = temporary_folder_make, .fini = temporary_folder_remove);

static void expect_named(const char *name, const char *path)
{
    size_t length = strlen(path);
    cr_assert(strncmp(name, path, length) == 0 && strncmp(name + length, ".part-", 6) == 0);
    cr_assert_eq(strlen(name), length + 12);
}

Test(part, has_the_rights_of_what_it_becomes)
{
    char file[RUE_PART_BYTES], folder[RUE_PART_BYTES];
    struct stat about;
    mode_t before = umask(027);
    int one = rue_part_file(temporary_path("x"), file), two = rue_part_folder(temporary_path("y"), folder);
    umask(before);
    cr_assert(one >= 0 && two >= 0);
    expect_named(file, temporary_path("x"));
    expect_named(folder, temporary_path("y"));
    cr_assert(stat(file, &about) == 0 && S_ISREG(about.st_mode) && (about.st_mode & 0777) == 0640);
    cr_assert(stat(folder, &about) == 0 && S_ISDIR(about.st_mode) && (about.st_mode & 0777) == 0750);
    close(one);
    close(two);
}

Test(part, of_a_process_at_work_is_left_alone)
{
    char first[RUE_PART_BYTES], second[RUE_PART_BYTES];
    int one = rue_part_file(temporary_path("x"), first), two = rue_part_file(temporary_path("x"), second);
    cr_assert(one >= 0 && two >= 0);
    cr_assert(access(first, F_OK) == 0 && access(second, F_OK) == 0);
    close(one);
    close(two);
}

Test(part, of_a_process_that_is_gone_is_removed)
{
    char left[RUE_PART_BYTES], folder[RUE_PART_BYTES], below[RUE_PART_BYTES + 8], mine[RUE_PART_BYTES];
    close(rue_part_file(temporary_path("x"), left));
    int held = rue_part_folder(temporary_path("x"), folder);
    cr_assert(access(left, F_OK) != 0, "whatever it is that is made next");
    snprintf(below, sizeof below, "%s/class", folder);
    cr_assert_eq(mkdir(below, 0777), 0);
    close(held);
    int fd = rue_part_file(temporary_path("x"), mine);
    cr_assert(fd >= 0 && access(folder, F_OK) != 0, "with all that is in it");
    close(fd);
}

Test(part, a_folder_that_is_not_there_is_an_error_without_a_name)
{
    char name[RUE_PART_BYTES];
    cr_assert_eq(rue_part_file(temporary_path("no/such"), name), -1);
    cr_assert(errno == ENOENT && !name[0]);
    cr_assert_eq(rue_part_folder(temporary_path("no/such"), name), -1);
    cr_assert(errno == ENOENT && !name[0]);
    rue_part_remove(name);
}

Test(part, a_tree_is_removed_and_what_its_links_lead_to_is_left)
{
    char part[RUE_PART_BYTES], path[RUE_PART_BYTES + 64];
    temporary_text("precious/file", "x");
    int held = rue_part_folder(temporary_path("x"), part);
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
