/* What it means that files of data cannot be opened or read. */
#ifndef RUE_SOURCE_FAILURE_H
#define RUE_SOURCE_FAILURE_H

#include "error.h"

/* What an errno of reading data says: RUE_INFEASIBLE when the system is out of descriptors or memory,
 * RUE_STORE when the storage fails, else RUE_DATA: the item itself is at fault, and only then may another
 * take its place. */
rue_status rue_source_failure(int error_number);

/* The message for a file or folder of data that could not be opened, as errno says; returns
 * rue_source_failure of it. */
rue_status rue_fail_open(rue_error *error, const char *path);

#endif
