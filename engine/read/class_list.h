/* The names of classes in a file beside the data, classes.txt: one a line, the first is class 0. */
#ifndef RUE_CLASS_LIST_H
#define RUE_CLASS_LIST_H

#include <stddef.h>

#include "error.h"

#define RUE_CLASS_LIST_FILE "classes.txt"

/* All zeros has no classes. */
struct rue_class_list {
    char **names; /* [count] */
    size_t count;
    char *text;
};

/* Reads the list of `folder`; none where there is no such file. RUE_DATA where it cannot be read, is longer
 * than 64 MiB or holds a NUL; RUE_MEMORY. */
rue_status rue_class_list_read(const char *folder, struct rue_class_list *out,
                               rue_error *error) RUE_MUST_CHECK;
void rue_class_list_free(struct rue_class_list *list);

#endif
