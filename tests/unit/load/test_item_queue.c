#include "item_queue.h"

#include <criterion/criterion.h>
#include <string.h>

static struct rue_item_queue queue;

static void push(uint64_t item, size_t bytes)
{
    void *into = rue_item_queue_push(&queue, item, bytes);
    cr_assert_not_null(into);
    memset(into, (int)item, bytes);
}

static void expect_pop(uint64_t item, size_t bytes)
{
    const unsigned char *found = rue_item_queue_pop(&queue, item);
    cr_assert_not_null(found, "item %d", (int)item);
    cr_assert(found[0] == item && found[bytes - 1] == item, "item %d", (int)item);
}

Test(item_queue, items_come_in_the_order_in_which_they_were_read)
{
    cr_assert_null(rue_item_queue_pop(&queue, 0));
    for (uint64_t item = 1; item <= 100; item++) push(item, 1000 * item); /* the bytes move as they grow */
    cr_assert_null(rue_item_queue_pop(&queue, 2), "1 is the oldest");
    for (uint64_t item = 1; item <= 100; item++) expect_pop(item, 1000 * item);
    cr_assert_null(rue_item_queue_pop(&queue, 101));
    rue_item_queue_close(&queue);
}

Test(item_queue, it_is_filled_again_only_when_it_is_empty)
{
    push(1, 10), push(2, 10);
    expect_pop(1, 10);
    cr_assert_null(rue_item_queue_push(&queue, 3, 10), "item 1 may be in use");
    expect_pop(2, 10);
    push(3, 10);
    expect_pop(3, 10);
    rue_item_queue_close(&queue);
}

Test(item_queue, it_is_bounded_by_bytes)
{
    cr_assert_null(rue_item_queue_push(&queue, 1, (uint64_t)RUE_ITEM_QUEUE_BYTES + 1));
    cr_assert_null(rue_item_queue_push(&queue, 1, UINT64_MAX));
    push(1, RUE_ITEM_QUEUE_BYTES - 5);
    cr_assert_null(rue_item_queue_push(&queue, 2, 6));
    push(3, 5);
    cr_assert_null(rue_item_queue_push(&queue, 4, 1));
    rue_item_queue_clear(&queue);
    push(5, RUE_ITEM_QUEUE_BYTES);
    rue_item_queue_close(&queue);
}

Test(item_queue, an_item_that_could_not_be_read_closes_it)
{
    push(1, 10), push(2, 20);
    rue_item_queue_drop(&queue);
    cr_assert_null(rue_item_queue_push(&queue, 3, 10));
    expect_pop(1, 10);
    cr_assert_null(rue_item_queue_pop(&queue, 2));
    rue_item_queue_close(&queue);
}
