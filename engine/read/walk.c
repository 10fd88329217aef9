#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "array.h"
#include "source_index.h"

/* A folder that is part of the walk. All of them are kept until it is over. */
struct folder {
    dev_t device;
    ino_t inode;
    char path[]; /* below the root; "" for the root */
};

struct walk {
    const char *root;
    int root_fd;
    rue_walk_visit visit;
    void *context;
    struct folder **folders; /* [count]; those from `next` on are not read yet */
    size_t count, capacity, next;
    void *seen;   /* of tsearch: the folders by device and inode */
    char **links; /* [link_count] paths of links to folders that were met and not followed yet */
    size_t link_count, link_capacity;
    char path[PATH_MAX]; /* of the entry, below the root */
};

static rue_status fail(const struct walk *walk, const char *path, int why, rue_error *error)
{
    size_t bytes = strlen(walk->root);
    while (*path && bytes && walk->root[bytes - 1] == '/') bytes--;
    return rue_fail(error, rue_source_failure(why), "cannot read %.*s%s%s: %s%s", (int)bytes, walk->root,
                    *path ? "/" : "", path, strerror(why), rue_advice(why));
}

static int compare_folders(const void *left, const void *right)
{
    const struct folder *a = left, *b = right;
    if (a->device != b->device) return a->device < b->device ? -1 : 1;
    return (a->inode > b->inode) - (a->inode < b->inode);
}

/* Has the folder read later, or sets `*again` where it was met at another path. */
static rue_status add_folder(struct walk *walk, const char *path, const struct stat *about, bool *again,
                             rue_error *error)
{
    static const char what[] = "the folders of the data";
    size_t bytes = strlen(path) + 1;
    rue_status status =
        rue_array_grow(&walk->folders, &walk->capacity, walk->count + 1, sizeof *walk->folders, what, error);
    if (status != RUE_OK) return status;
    struct folder *folder = malloc(sizeof *folder + bytes);
    if (!folder) return rue_fail_memory(error, what, sizeof *folder + bytes);
    folder->device = about->st_dev;
    folder->inode = about->st_ino;
    memcpy(folder->path, path, bytes);
    struct folder **found = tsearch(folder, &walk->seen, compare_folders);
    *again = found && *found != folder;
    if (found && !*again) return walk->folders[walk->count++] = folder, RUE_OK;
    free(folder);
    return found ? RUE_OK : rue_fail_memory(error, what, sizeof *folder + bytes);
}

static rue_status add_link(struct walk *walk, rue_error *error)
{
    static const char what[] = "the links of the data";
    rue_status status = rue_array_grow(&walk->links, &walk->link_capacity, walk->link_count + 1,
                                       sizeof *walk->links, what, error);
    if (status != RUE_OK) return status;
    char *path = walk->links[walk->link_count] = strdup(walk->path);
    if (!path) return rue_fail_memory(error, what, strlen(walk->path) + 1);
    walk->link_count++;
    return RUE_OK;
}

/* Real folders are read before links are followed, so that what a link leads to does not depend on the order
 * in which a file system has them. */
static rue_status meet(struct walk *walk, int fd, const char *folder, const char *name, rue_error *error)
{
    struct stat about;
    bool again = false;
    int bytes = snprintf(walk->path, sizeof walk->path, "%s%s%s", folder, *folder ? "/" : "", name);
    struct rue_walk_entry entry = {.path = walk->path, .name = walk->path + bytes - strlen(name)};
    rue_status status = RUE_OK;
    if ((size_t)bytes + strlen(walk->root) + 1 >= PATH_MAX)
        return fail(walk, walk->path, ENAMETOOLONG, error);
    if (fstatat(fd, name, &about, AT_SYMLINK_NOFOLLOW) != 0) return fail(walk, walk->path, errno, error);
    bool link = S_ISLNK(about.st_mode);
    if (link && fstatat(fd, name, &about, 0) != 0) {
        if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
            return fail(walk, walk->path, errno, error);
        entry.kind = RUE_WALK_DANGLING;
    } else if (S_ISDIR(about.st_mode)) {
        status = link ? add_link(walk, error) : add_folder(walk, walk->path, &about, &again, error);
        entry.kind = again ? RUE_WALK_AGAIN : RUE_WALK_FOLDER;
    } else {
        entry.kind = S_ISREG(about.st_mode) ? RUE_WALK_FILE : RUE_WALK_OTHER;
        entry.bytes = (uint64_t)about.st_size;
    }
    return status == RUE_OK ? walk->visit(walk->context, &entry, error) : status;
}

static rue_status read_folder(struct walk *walk, const char *path, rue_error *error)
{
    int fd = openat(walk->root_fd, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        int why = errno;
        if (fd >= 0) close(fd);
        return fail(walk, path, why, error);
    }
    rue_status status = RUE_OK;
    while (status == RUE_OK) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (entry && entry->d_name[0] != '.')
            status = meet(walk, fd, path, entry->d_name, error);
        else if (!entry && errno == 0)
            break;
        else if (!entry && errno != EINTR)
            status = fail(walk, path, errno, error);
    }
    closedir(folder);
    return status;
}

static rue_status read_folders(struct walk *walk, rue_error *error)
{
    rue_status status = RUE_OK;
    while (status == RUE_OK && walk->next < walk->count)
        status = read_folder(walk, walk->folders[walk->next++]->path, error);
    return status;
}

static rue_status follow_link(struct walk *walk, const char *path, rue_error *error)
{
    struct stat about;
    bool again;
    if (fstatat(walk->root_fd, path, &about, 0) != 0) return fail(walk, path, errno, error);
    rue_status status = add_folder(walk, path, &about, &again, error);
    if (status != RUE_OK || !again) return status == RUE_OK ? read_folders(walk, error) : status;
    const char *slash = strrchr(path, '/');
    const struct rue_walk_entry entry = {path, slash ? slash + 1 : path, RUE_WALK_AGAIN, 0};
    return walk->visit(walk->context, &entry, error);
}

static int compare_links(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* All that were met, by their paths; then those that were met behind them. */
static rue_status follow_links(struct walk *walk, rue_error *error)
{
    rue_status status = RUE_OK;
    while (status == RUE_OK && walk->link_count) {
        char **links = walk->links;
        size_t count = walk->link_count;
        walk->links = NULL;
        walk->link_count = walk->link_capacity = 0;
        qsort(links, count, sizeof *links, compare_links);
        for (size_t i = 0; i < count; i++) {
            if (status == RUE_OK) status = follow_link(walk, links[i], error);
            free(links[i]);
        }
        free(links);
    }
    return status;
}

rue_status rue_walk(const char *root, int root_fd, rue_walk_visit visit, void *context, rue_error *error)
{
    struct stat about;
    bool again;
    struct walk walk = {.root = root, .root_fd = root_fd, .visit = visit, .context = context};
    if (fstat(root_fd, &about) != 0) return fail(&walk, "", errno, error);
    rue_status status = add_folder(&walk, "", &about, &again, error);
    if (status == RUE_OK) status = read_folders(&walk, error);
    if (status == RUE_OK) status = follow_links(&walk, error);
    tdestroy(walk.seen, free);
    for (size_t i = 0; i < walk.link_count; i++) free(walk.links[i]);
    free(walk.folders);
    free(walk.links);
    return status;
}
