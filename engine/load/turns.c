#include "turns.h"

#include <stdlib.h>

/* A part, among the others by its number of turns. */
struct ranked {
    uint64_t first; /* item */
    uint64_t turns; /* whole ones */
    uint64_t end;   /* turns of all parts before the round in which it drops out */
};

/* What is left over of a part. */
struct rest {
    uint64_t before; /* items left over of earlier parts, and of this one */
    uint64_t end;    /* its last item + 1 */
};

struct rue_turns {
    uint64_t turn; /* items */
    size_t count;
    struct ranked *ranked; /* [count] the one with most turns first */
    struct rest rests[];   /* [count] in the order of the items */
};

static int compare_turns(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->turns != y->turns) return x->turns > y->turns ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

rue_status rue_turns_open(const uint64_t *firsts, size_t count, uint64_t turn, struct rue_turns **out,
                          rue_error *error)
{
    size_t bytes = sizeof(struct rue_turns) + count * sizeof(struct rest);
    struct rue_turns *turns = malloc(bytes);
    struct ranked *ranked = malloc(count * sizeof *ranked);
    if (!turns || !ranked) {
        free(turns), free(ranked);
        return rue_fail_memory(error, "parts that take turns", bytes + count * sizeof *ranked);
    }
    *turns = (struct rue_turns){.turn = turn, .count = count, .ranked = ranked};
    for (size_t p = 0; p < count; p++) {
        uint64_t items = firsts[p + 1] - firsts[p];
        ranked[p] = (struct ranked){.first = firsts[p], .turns = items / turn};
        turns->rests[p] = (struct rest){(p ? turns->rests[p - 1].before : 0) + items % turn, firsts[p + 1]};
    }
    qsort(ranked, count, sizeof *ranked, compare_turns);
    ranked[count - 1].end = count * ranked[count - 1].turns;
    for (size_t p = count - 1; p > 0; p--)
        ranked[p - 1].end = ranked[p].end + p * (ranked[p - 1].turns - ranked[p].turns);
    *out = turns;
    return RUE_OK;
}

void rue_turns_close(struct rue_turns *turns)
{
    if (!turns) return;
    free(turns->ranked);
    free(turns);
}

static uint64_t rest_item(const struct rue_turns *turns, uint64_t place)
{
    size_t low = 0, high = turns->count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (turns->rests[middle].before > place)
            high = middle;
        else
            low = middle + 1;
    }
    return turns->rests[low].end - (turns->rests[low].before - place);
}

uint64_t rue_turns_item(const struct rue_turns *turns, uint64_t place)
{
    uint64_t number = place / turns->turn;
    if (number >= turns->ranked[0].end) return rest_item(turns, place - turns->ranked[0].end * turns->turn);
    size_t left = 1, most = turns->count; /* parts that have not dropped out */
    while (left < most) {
        size_t middle = left + (most - left) / 2;
        if (turns->ranked[middle].end > number)
            left = middle + 1;
        else
            most = middle;
    }
    uint64_t round = left < turns->count ? turns->ranked[left].turns : 0;
    number -= left < turns->count ? turns->ranked[left].end : 0;
    round += number / left;
    return turns->ranked[number % left].first + round * turns->turn + place % turns->turn;
}
