/* Rows of one cell that are no repeats: they differ in a column that nothing reads, which tells of several
 * data sets, models or settings in one table. */
#ifndef RUE_MIXTURE_H
#define RUE_MIXTURE_H

#include "columns.h"
#include "tally.h"

/* A zeroed struct has seen nothing. */
struct rue_mixture {
    size_t unread_count;
    size_t *unread; /* [unread_count] the file's columns that nothing reads */
    struct rue_names cells;
    size_t capacity;
    const char **values; /* [cells.count * unread_count] the unread columns of a cell's first row; borrowed */
};

/* Looks at the row that has become the tally's last trial; `header` is what the columns are called, `map` how
 * the user mapped them (nullable). The texts of header and record must live as long as `mixture`. RUE_DATA,
 * with what to type, when an unread column says that the row does not belong to the cell; RUE_MEMORY. */
rue_status rue_mixture_note(struct rue_mixture *mixture, const struct rue_columns *columns,
                            const char *const *header, const struct rue_tally *tally,
                            const struct rue_csv_record *record, const char *map,
                            rue_error *error) RUE_MUST_CHECK;

/* Frees all of it. */
void rue_mixture_close(struct rue_mixture *mixture);

#endif
