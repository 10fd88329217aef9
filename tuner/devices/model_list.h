/* The batch times of models on a device as a page, from the catalogue or a device table. */
#ifndef RUE_MODEL_LIST_H
#define RUE_MODEL_LIST_H

#include "device_table.h"
#include "knob_list.h"
#include "section.h"

struct rue_model_list {
    const struct rue_device_table *measured; /* NULL: the catalogue's models */
    const char *device;                      /* simulated device, as typed */
    const int *batch_sizes;                  /* [batch_size_count], at most RUE_MODEL_LIST_SIZES_MAX */
    size_t batch_size_count;
};

enum { RUE_MODEL_LIST_SIZES_MAX = 15 };

/* Reads the option --batch-size into `space`. RUE_USAGE: also if there are more than can be listed. */
rue_status rue_model_list_read_sizes(const struct rue_options *options, struct rue_space *space,
                                     rue_error *error) RUE_MUST_CHECK;

/* Adds the table and its explanation to the page. RUE_USAGE for an unknown device, and for this machine's
 * GPU, whose times must be measured first. */
rue_status rue_model_list_put(const struct rue_model_list *list, struct rue_page *page,
                              rue_error *error) RUE_MUST_CHECK;

#endif
