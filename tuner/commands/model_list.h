/* What batches of models take on a device, as a page: of the catalogue, or of a device table. */
#ifndef RUE_MODEL_LIST_H
#define RUE_MODEL_LIST_H

#include "device_table.h"
#include "section.h"

struct rue_model_list {
    const struct rue_device_table *measured; /* whose models are listed; NULL: those of the catalogue */
    const char *device;                      /* that these are simulated on, as typed */
    const int *batch_sizes;                  /* [batch_size_count], at most RUE_MODEL_LIST_SIZES_MAX */
    size_t batch_size_count;
};

enum { RUE_MODEL_LIST_SIZES_MAX = 15 };

/* Puts the table on the page, and sentences that explain it. RUE_USAGE for an unknown device, and for the GPU
 * at hand, whose times are known only when they are measured. */
rue_status rue_model_list_put(const struct rue_model_list *list, struct rue_page *page,
                              rue_error *error) RUE_MUST_CHECK;

#endif
