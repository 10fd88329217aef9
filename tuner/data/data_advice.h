/* Advice for a user who gives a study or images that are not read as data. */
#ifndef RUE_DATA_ADVICE_H
#define RUE_DATA_ADVICE_H

#include "error.h"

/* Returns `status`. If that is RUE_DATA and the folder `path` has only studies or images that are not read,
 * `error` becomes a message about them. Walks the folder. */
rue_status rue_data_advise(rue_status status, const char *path, rue_error *error);

#endif
