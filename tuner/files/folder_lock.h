/* A lock that lets only one process write to a folder. */
#ifndef RUE_FOLDER_LOCK_H
#define RUE_FOLDER_LOCK_H

#include <stdbool.h>

#include "error.h"

/* Creates the folder and its parents, unless they exist. `path` is changed temporarily. `option` ("--out") is
 * for messages: it chooses another folder. RUE_STORE. */
rue_status rue_folder_make(char *path, const char *option, rue_error *error) RUE_MUST_CHECK;

/* Locks the folder until rue_folder_release or the end of this process; creates it if it is missing. `folder`
 * is changed temporarily. Never waits. RUE_STORE: it is locked (the message names the process, unless that is
 * on another machine or in another container), cannot be created or opened, or its file system has no locks.
 * `option` as above. Signals are deferred until the release; a release of -1 does nothing. */
rue_status rue_folder_acquire(char *folder, const char *option, int *lock, rue_error *error) RUE_MUST_CHECK;
void rue_folder_release(int lock);

/* Whether a process has locked it. False if unknown. */
bool rue_folder_is_locked(const char *folder);

#endif
