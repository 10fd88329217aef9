#include "file_system.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>

#include "temporary_folder.h"

TestSuite(file_system, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 30);

Test(file_system, of_proc_is_proc)
{
    struct rue_file_system found;
    cr_assert(rue_file_system_of("/proc/self/stat", &found));
    cr_assert_str_eq(found.type, "proc");
    cr_assert_str_eq(found.mount, "/proc");
}

Test(file_system, of_a_file_is_that_of_its_folder)
{
    struct rue_file_system of_file, of_folder;
    temporary_text("a b", "");
    cr_assert(rue_file_system_of(temporary_path("a b"), &of_file));
    cr_assert(rue_file_system_of(temporary_folder, &of_folder));
    cr_assert_str_eq(of_file.type, of_folder.type);
    cr_assert_str_eq(of_file.mount, of_folder.mount);
    cr_assert(strncmp(temporary_folder, of_file.mount, strlen(of_file.mount)) == 0 && *of_file.type);
}

Test(file_system, is_that_of_the_device_that_holds_it)
{
    struct rue_file_system found;
    struct stat file, mount;
    cr_assert(rue_file_system_of(temporary_folder, &found));
    cr_assert(stat(temporary_folder, &file) == 0 && stat(found.mount, &mount) == 0);
    cr_assert_eq(file.st_dev, mount.st_dev);
}

Test(file_system, follows_links)
{
    struct rue_file_system found;
    cr_assert_eq(symlink("/proc", temporary_path("link")), 0);
    cr_assert(rue_file_system_of(temporary_path("link"), &found));
    cr_assert_str_eq(found.type, "proc");
}

Test(file_system, of_what_is_not_there_is_not_known)
{
    struct rue_file_system found;
    cr_assert_not(rue_file_system_of(temporary_path("nothing"), &found));
}
