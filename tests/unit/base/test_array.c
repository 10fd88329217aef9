#include "array.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>

Test(array, items_are_kept_while_it_doubles)
{
    uint64_t *numbers = NULL;
    size_t capacity = 0, grown = 0;
    for (size_t count = 0; count < 100000; count++) {
        size_t before = capacity;
        cr_assert_eq(rue_array_grow(&numbers, &capacity, count + 1, sizeof *numbers, "numbers", NULL),
                     RUE_OK);
        cr_assert_gt(capacity, count);
        grown += capacity != before;
        numbers[count] = count;
    }
    cr_assert_lt(grown, 15, "%zu times", grown);
    for (size_t i = 0; i < 100000; i++) cr_assert_eq(numbers[i], i);
    free(numbers);
}

Test(array, many_items_are_added_at_once)
{
    char *text = NULL;
    size_t capacity = 0;
    cr_assert_eq(rue_array_grow(&text, &capacity, 1000, 1, "a text", NULL), RUE_OK);
    cr_assert_geq(capacity, 1000);
    memset(text, 'x', 1000);
    free(text);
}

Test(array, is_unchanged_without_memory)
{
    uint64_t *numbers = NULL;
    size_t capacity = 0;
    rue_error error = {0};
    cr_assert_eq(rue_array_grow(&numbers, &capacity, 1, sizeof *numbers, "numbers", NULL), RUE_OK);
    const uint64_t *before = numbers;
    size_t had = capacity;
    cr_assert_eq(rue_array_grow(&numbers, &capacity, SIZE_MAX / 4, sizeof *numbers, "numbers", &error),
                 RUE_MEMORY);
    cr_assert(strstr(error.message, "numbers"), "%s", error.message);
    cr_assert(numbers == before && capacity == had);
    free(numbers);
}
