/* Raw items that one thread read before it decodes them: first in, first out. */
#ifndef RUE_ITEM_QUEUE_H
#define RUE_ITEM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RUE_ITEM_QUEUE_BYTES = 64 << 20 /* of the items in it */ };

struct rue_queued_item {
    uint64_t item;
    size_t offset, bytes; /* in `bytes` of the queue */
};

/* {0} is an empty queue. Once a caller removes an item, no item is added until the queue is empty. */
struct rue_item_queue {
    char *bytes;
    size_t used, capacity;
    struct rue_queued_item *items; /* from `oldest` to `count` */
    size_t oldest, count, items_capacity;
    bool closed; /* until it is empty */
};

/* Adds room for an item, which the caller fills. NULL: the queue is full or closed, or out of memory. */
void *rue_item_queue_push(struct rue_item_queue *queue, uint64_t item, uint64_t bytes);

/* Removes the item that was added last, and closes the queue: the item could not be read. */
void rue_item_queue_drop(struct rue_item_queue *queue);

/* Removes the oldest item if it is `item`, and returns its bytes, valid until the next push. NULL: it is
 * another one, or there is none. */
const void *rue_item_queue_pop(struct rue_item_queue *queue, uint64_t item);

void rue_item_queue_clear(struct rue_item_queue *queue);
void rue_item_queue_close(struct rue_item_queue *queue);

#endif
