/* The order of items whose parts take turns. In each round every part gives a turn of items, the largest part
 * first. A part with less than a turn left drops out; what is left over of all parts comes last. */
#ifndef RUE_TURNS_H
#define RUE_TURNS_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct rue_turns;

/* `firsts` [count + 1] are the first item of each part, from 0, and the number of items. `turn` is at least
 * 1. RUE_MEMORY. */
rue_status rue_turns_open(const uint64_t *firsts, size_t count, uint64_t turn, struct rue_turns **out,
                          rue_error *error) RUE_MUST_CHECK;
void rue_turns_close(struct rue_turns *turns);

/* The item at `place` of the order. */
uint64_t rue_turns_item(const struct rue_turns *turns, uint64_t place);

#endif
