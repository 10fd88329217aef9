#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

/* The slot that holds `text`, or the free one where it belongs. */
static size_t *slot_of(const struct rue_names *names, const char *text)
{
    uint64_t hash = rue_hash(RUE_HASH_START, text, strlen(text));
    for (size_t at = hash & (names->slot_count - 1);; at = (at + 1) & (names->slot_count - 1)) {
        size_t *slot = &names->slots[at];
        if (*slot == 0 || strcmp(names->texts[*slot - 1], text) == 0) return slot;
    }
}

/* At most half of the slots are taken. */
static rue_status make_room(struct rue_names *names, rue_error *error)
{
    if (names->count < names->capacity) return RUE_OK;
    size_t capacity = names->capacity ? 2 * names->capacity : 32;
    char **texts = realloc(names->texts, capacity * sizeof *texts);
    if (texts) names->texts = texts;
    size_t *slots = texts ? calloc(2 * capacity, sizeof *slots) : NULL;
    if (!slots) return rue_fail_memory(error, "names", capacity * sizeof *texts);
    free(names->slots);
    names->slots = slots;
    names->slot_count = 2 * capacity;
    names->capacity = capacity;
    for (size_t i = 0; i < names->count; i++) *slot_of(names, names->texts[i]) = i + 1;
    return RUE_OK;
}

rue_status rue_names_number(struct rue_names *names, const char *text, size_t *out, rue_error *error)
{
    rue_status status = make_room(names, error);
    if (status != RUE_OK) return status;
    size_t *slot = slot_of(names, text);
    if (*slot == 0) {
        char *copy = strdup(text);
        if (!copy) return rue_fail_memory(error, "a name", strlen(text));
        names->texts[names->count++] = copy;
        *slot = names->count;
    }
    *out = *slot - 1;
    return RUE_OK;
}

void rue_names_close(struct rue_names *names)
{
    for (size_t i = 0; i < names->count; i++) free(names->texts[i]);
    free(names->texts);
    free(names->slots);
    *names = (struct rue_names){0};
}
