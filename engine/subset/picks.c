#include "picks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "array.h"

rue_status rue_picks_open(struct rue_picks *picks, rue_error *error)
{
    picks->seen = calloc(picks->whole / 8 + 1, 1);
    return picks->seen ? RUE_OK : rue_fail_memory(error, "marks of items", picks->whole / 8 + 1);
}

void rue_picks_close(struct rue_picks *picks)
{
    free(picks->seen);
}

rue_status rue_picks_fail(const struct rue_picks *picks, rue_error *error, const char *format, ...)
{
    char what[RUE_ERROR_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (picks->line)
        return rue_fail(error, RUE_USAGE, "%.300s line %" PRIu64 ": %s", picks->text, picks->line, what);
    return rue_fail(error, RUE_USAGE, "subset '%.60s': %s", picks->text, what);
}

rue_status rue_picks_add(struct rue_picks *picks, uint64_t item, rue_error *error)
{
    if (item >= picks->whole)
        return rue_picks_fail(picks, error,
                              "item %" PRIu64 " does not exist: %.300s has %" PRIu64 " item%s, from 0", item,
                              picks->data, picks->whole, picks->whole == 1 ? "" : "s");
    unsigned char *marks = &picks->seen[item / 8], mark = (unsigned char)(1u << item % 8);
    if (*marks & mark)
        return rue_picks_fail(picks, error, "item %" PRIu64 " is given twice: remove one", item);
    rue_status status = rue_array_grow(&picks->items, &picks->capacity, picks->count + 1,
                                       sizeof *picks->items, "a subset", error);
    if (status != RUE_OK) return status;
    *marks |= mark;
    picks->items[picks->count++] = item;
    return RUE_OK;
}
