#include "ask_queue.h"

#include <stdlib.h>

rue_status rue_ask_queue_push(struct rue_ask_queue *queue, const struct rue_ask *ask, rue_error *error)
{
    if (queue->next == queue->count) queue->next = queue->count = 0;
    if (queue->count == queue->capacity) {
        size_t capacity = queue->capacity ? 2 * queue->capacity : 64;
        struct rue_ask *grown = reallocarray(queue->at, capacity, sizeof *grown);
        if (!grown) return rue_fail_memory(error, "questions", capacity * sizeof *grown);
        queue->at = grown;
        queue->capacity = capacity;
    }
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
