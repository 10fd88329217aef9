#include "storage.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "temporary_folder.h"

TestSuite(storage, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 30);

Test(storage, counts_a_file_or_all_files_below_a_folder)
{
    cr_assert_eq(mkdir(temporary_path("in"), 0777), 0);
    temporary_text("a", "12345");
    temporary_text("in/b", "123");
    temporary_text(".hidden", "1234567");
    cr_assert_eq(rue_storage_bytes(temporary_path("a")), 5);
    cr_assert_eq(rue_storage_bytes(temporary_folder), 8);
    cr_assert(isnan(rue_storage_bytes(temporary_path("nothing"))));
}

Test(storage, counts_the_images_of_a_list_and_the_items_of_a_pattern)
{
    struct rue_variant variant = {.format = "csv"};
    temporary_text("list.csv", "path\n");
    strcpy(variant.path, temporary_path("list.csv"));
    cr_assert_eq(rue_variant_storage_bytes(&variant, 100), 105);
    strcpy(variant.format, "webdataset");
    cr_assert_eq(rue_variant_storage_bytes(&variant, 100), 5);
    strcpy(variant.path, "shards/{000..001}.tar");
    cr_assert_eq(rue_variant_storage_bytes(&variant, 100), 100);
}
