#include "prepare_proof.h"

#include <criterion/criterion.h>

#include "lmdb_fixture.h"

TestSuite(prepare_proof, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

enum { ITEMS = 4 };

/* What is said of an LMDB of the items 0, 1, 2, 3, where items of data and names of these numbers are said to
 * have been written. */
static const char *check(const unsigned data[ITEMS], const unsigned names[ITEMS])
{
    static rue_error error;
    struct rue_prepare_proof proof = {.format = rue_sink_find("lmdb"), .labelled = true};
    for (size_t i = 0; i < ITEMS; i++) {
        char key[PATH_MAX];
        snprintf(key, sizeof key, "%s", lmdb_item(names[i]).key);
        struct rue_item item = lmdb_item(data[i]);
        rue_prepare_proof_add(&proof, &item, lmdb_classes[item.label], key);
    }
    error = (rue_error){0};
    rue_status status = rue_prepare_proof_check(&proof, temporary_path("set"), NULL, &error);
    cr_assert(status == (error.message[0] ? RUE_DATA : RUE_OK));
    return error.message;
}

Test(prepare_proof, data_names_and_order_are_compared)
{
    lmdb_make("set", ITEMS);
    static const char *const other = "set holds 4 items that are not all those that were written";
    cr_assert_str_eq(check((unsigned[]){0, 1, 2, 3}, (unsigned[]){0, 1, 2, 3}), "");
    const char *said = check((unsigned[]){0, 1, 2, 3}, (unsigned[]){0, 1, 3, 2});
    cr_assert(strstr(said, other), "names: %s", said);
    said = check((unsigned[]){0, 2, 1, 3}, (unsigned[]){0, 2, 1, 3});
    cr_assert(strstr(said, other), "order: %s", said);
    said = check((unsigned[]){3, 1, 2, 3}, (unsigned[]){0, 1, 2, 3});
    cr_assert(strstr(said, other), "data: %s", said);
}

Test(prepare_proof, of_fewer_items_the_count_is_told)
{
    lmdb_make("set", ITEMS - 1);
    const char *said = check((unsigned[]){0, 1, 2, 3}, (unsigned[]){0, 1, 2, 3});
    cr_assert(strstr(said, "holds 3 items, not the 4 that were written"), "%s", said);
}
