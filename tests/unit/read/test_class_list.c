#include "class_list.h"

#include <criterion/criterion.h>

#include "temporary_folder.h"

TestSuite(class_list, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

Test(class_list, names_are_lines)
{
    static const char *const names[] = {"ape", "", "bee with blanks"};
    struct rue_class_list list;
    cr_assert_eq(rue_class_list_read(temporary_folder, &list, NULL), RUE_OK);
    cr_assert_eq(list.count, 0);
    temporary_text("classes.txt", "ape\n\nbee with blanks\n");
    cr_assert_eq(rue_class_list_read(temporary_folder, &list, NULL), RUE_OK);
    cr_assert_eq(list.count, 3);
    for (int i = 0; i < 3; i++) cr_assert_str_eq(list.names[i], names[i]);
    rue_class_list_free(&list);
    temporary_text("classes.txt", "one\r\ntwo");
    cr_assert_eq(rue_class_list_read(temporary_folder, &list, NULL), RUE_OK);
    cr_assert(list.count == 2 && !strcmp(list.names[0], "one") && !strcmp(list.names[1], "two"));
    rue_class_list_free(&list);
}

Test(class_list, what_is_no_list_of_names_is_refused)
{
    struct rue_class_list list;
    rue_error error = {0};
    temporary_file("classes.txt", "a\0b", 3);
    cr_assert_eq(rue_class_list_read(temporary_folder, &list, &error), RUE_DATA);
    cr_assert(strstr(error.message, "classes.txt"), "%s", error.message);
}
