/* A walk over all that lies below a folder, each folder once. Symbolic links are followed, those to folders
 * when all real folders have been read: one that leads to a folder that was read is not followed. What begins
 * with a dot is left out, with all below it. */
#ifndef RUE_WALK_H
#define RUE_WALK_H

#include <stdint.h>

#include "error.h"

enum rue_walk_kind {
    RUE_WALK_FILE,
    RUE_WALK_FOLDER,   /* that is read, or a link that may be followed */
    RUE_WALK_AGAIN,    /* a folder, or a link to one, that was read at another path */
    RUE_WALK_DANGLING, /* a link that leads nowhere */
    RUE_WALK_OTHER,    /* a FIFO, socket or device */
};

/* What was met; of a link that is not followed, there are two. Its strings live until the visit is over. */
struct rue_walk_entry {
    const char *path; /* below the root */
    const char *name; /* its last part */
    enum rue_walk_kind kind;
    uint64_t bytes; /* of a file; of what a link leads to */
};

/* What it returns other than RUE_OK, with its error, ends the walk. */
typedef rue_status (*rue_walk_visit)(void *context, const struct rue_walk_entry *entry, rue_error *error);

/* Visits everything below the folder that is open as `root_fd` and that messages call `root`, each folder's
 * entries in the order in which its file system has them, upper folders before lower ones; then what links
 * lead to, in the order of their paths. Which of several paths to a folder is taken does not depend on the
 * file system. Needs one more descriptor, whatever the depth. Blocks on storage.
 *
 * It is all or an error, which names the path: RUE_DATA for what may not be read and a path that, with the
 * root, has PATH_MAX bytes or more; otherwise rue_source_failure of what the system said; RUE_MEMORY. */
rue_status rue_walk(const char *root, int root_fd, rue_walk_visit visit, void *context,
                    rue_error *error) RUE_MUST_CHECK;

#endif
