#include "ask_queue.h"

#include <stdlib.h>

#include "array.h"

rue_status rue_ask_queue_push(struct rue_ask_queue *queue, const struct rue_ask *ask, rue_error *error)
{
    if (queue->next == queue->count) queue->next = queue->count = 0;
    rue_status status =
        rue_array_grow(&queue->at, &queue->capacity, queue->count + 1, sizeof *queue->at, "questions", error);
    if (status != RUE_OK) return status;
    queue->at[queue->count++] = *ask;
    return RUE_OK;
}

bool rue_ask_queue_is_empty(const struct rue_ask_queue *queue)
{
    return queue->next == queue->count;
}

bool rue_ask_queue_pop(struct rue_ask_queue *queue, struct rue_ask *out)
{
    if (queue->next == queue->count) return false;
    *out = queue->at[queue->next++];
    return true;
}

int rue_ask_queue_count_alike(const struct rue_ask_queue *queue, const struct rue_ask *ask)
{
    int count = 0;
    for (size_t i = 0; i < queue->count; i++) {
        const struct rue_ask *other = &queue->at[i];
        count +=
            other->scenario == ask->scenario && other->config == ask->config && other->images >= ask->images;
    }
    return count;
}

void rue_ask_queue_close(struct rue_ask_queue *queue)
{
    free(queue->at);
    *queue = (struct rue_ask_queue){0};
}
