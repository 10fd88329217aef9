/* A folder that one process works in at a time. */
#ifndef RUE_FOLDER_LOCK_H
#define RUE_FOLDER_LOCK_H

#include <stdbool.h>

#include "error.h"

/* Locks the folder, whatever path leads to it, until rue_folder_release or until this process ends, however
 * it does; makes it where it is missing (`folder` is changed and restored meanwhile). Never waits.
 * RUE_STORE, naming the process that has it where the kernel tells (not when it is on another machine or in
 * another container), when it is locked, cannot be made or opened, or its file system has no locks. `option`
 * is the one that names another folder ("--out"), for the message. Signals are deferred until the release,
 * which of -1 does nothing. */
rue_status rue_folder_acquire(char *folder, const char *option, int *lock, rue_error *error) RUE_MUST_CHECK;
void rue_folder_release(int lock);

/* Whether some process has it locked, as far as the kernel tells. */
bool rue_folder_is_locked(const char *folder);

#endif
