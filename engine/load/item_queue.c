#include "item_queue.h"

#include <stdlib.h>

#include "array.h"

void *rue_item_queue_push(struct rue_item_queue *queue, uint64_t item, uint64_t bytes)
{
    if (queue->oldest == queue->count) rue_item_queue_clear(queue);
    if (queue->closed || bytes > RUE_ITEM_QUEUE_BYTES - queue->used) return NULL;
    if (rue_array_grow(&queue->bytes, &queue->capacity, queue->used + bytes, 1, "items", NULL) != RUE_OK ||
        rue_array_grow(&queue->items, &queue->items_capacity, queue->count + 1, sizeof *queue->items, "items",
                       NULL) != RUE_OK)
        return NULL;
    queue->items[queue->count++] = (struct rue_queued_item){item, queue->used, bytes};
    queue->used += bytes;
    return queue->bytes + queue->used - bytes;
}

void rue_item_queue_drop(struct rue_item_queue *queue)
{
    queue->used -= queue->items[--queue->count].bytes;
    queue->closed = true;
}

const void *rue_item_queue_pop(struct rue_item_queue *queue, uint64_t item)
{
    if (queue->oldest == queue->count || queue->items[queue->oldest].item != item) return NULL;
    queue->closed = true;
    return queue->bytes + queue->items[queue->oldest++].offset;
}

void rue_item_queue_clear(struct rue_item_queue *queue)
{
    queue->used = queue->oldest = queue->count = 0;
    queue->closed = false;
}

void rue_item_queue_close(struct rue_item_queue *queue)
{
    free(queue->bytes);
    free(queue->items);
    *queue = (struct rue_item_queue){0};
}
