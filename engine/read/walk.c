#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "array.h"
#include "source_index.h"

/* A folder that is part of the walk. All of them are kept until it is over. */
struct folder {
    size_t index;                /* in walk.folders */
    const struct folder *parent; /* NULL for the root */
    size_t prefix; /* bytes of its path below the root, the slash at the end included; 0 for the root */
    dev_t device;
    ino_t inode;
    char name[]; /* "" for the root */
};

/* A symbolic link that leads to a folder. */
struct link {
    const struct folder *in;
    char *path; /* below the root; owned */
};

struct walk {
    const char *root;
    int root_bytes; /* of it, without the slashes at its end */
    size_t room;    /* for a path below the root, its NUL included */
    int root_fd;
    rue_walk_visit visit;
    void *context;
    struct folder **folders; /* [count], each behind its parent */
    size_t count, capacity;
    void *tree;         /* of tsearch: the first folder of each device and inode */
    size_t before;      /* folders that were found before the last link was followed */
    struct link *links; /* [link_count] that were met and not followed yet */
    size_t link_count, link_capacity;
    const struct folder *at; /* the folder that is read */
    char path[PATH_MAX];     /* of the entry; the prefix of the folder before it */
};

/* `name` "": the folder that is read. */
static rue_status fail(const struct walk *walk, const char *name, int why, rue_error *error)
{
    size_t prefix = walk->at ? walk->at->prefix : 0;
    if (!prefix && !name[0])
        return rue_fail(error, rue_source_failure(why), "cannot read %s: %s%s", walk->root, strerror(why),
                        rue_advice(why));
    return rue_fail(error, rue_source_failure(why), "cannot read %.*s/%.*s%s: %s%s", walk->root_bytes,
                    walk->root, (int)(name[0] ? prefix : prefix - 1), walk->path, name, strerror(why),
                    rue_advice(why));
}

static int compare_folders(const void *left, const void *right)
{
    const struct folder *a = left, *b = right;
    if (a->device != b->device) return a->device < b->device ? -1 : 1;
    return (a->inode > b->inode) - (a->inode < b->inode);
}

static rue_status add_folder(struct walk *walk, const char *name, const struct stat *about, rue_error *error)
{
    static const char what[] = "the folders of the data";
    size_t bytes = strlen(name) + 1;
    rue_status status =
        rue_array_grow(&walk->folders, &walk->capacity, walk->count + 1, sizeof *walk->folders, what, error);
    struct folder *folder = status == RUE_OK ? malloc(sizeof *folder + bytes) : NULL;
    if (!folder) return status == RUE_OK ? rue_fail_memory(error, what, sizeof *folder + bytes) : status;
    *folder = (struct folder){.index = walk->count,
                              .parent = walk->at,
                              .prefix = walk->at ? walk->at->prefix + bytes : 0,
                              .device = about->st_dev,
                              .inode = about->st_ino};
    memcpy(folder->name, name, bytes);
    walk->folders[walk->count++] = folder;
    if (!tsearch(folder, &walk->tree, compare_folders)) return rue_fail_memory(error, what, sizeof *folder);
    return RUE_OK;
}

/* Whether the folder is one of the first `count`. */
static bool is_among(const struct walk *walk, const struct stat *about, size_t count)
{
    const struct folder wanted = {.device = about->st_dev, .inode = about->st_ino};
    struct folder *const *found = tfind(&wanted, &walk->tree, compare_folders);
    return found && (*found)->index < count;
}

static rue_status add_link(struct walk *walk, rue_error *error)
{
    static const char what[] = "the links of the data";
    rue_status status = rue_array_grow(&walk->links, &walk->link_capacity, walk->link_count + 1,
                                       sizeof *walk->links, what, error);
    char *path = status == RUE_OK ? strdup(walk->path) : NULL;
    if (!path) return status == RUE_OK ? rue_fail_memory(error, what, strlen(walk->path) + 1) : status;
    walk->links[walk->link_count++] = (struct link){walk->at, path};
    return RUE_OK;
}

/* Puts the prefix of the folder that is read in front of `path`, from its end. */
static void put_prefix(struct walk *walk)
{
    for (const struct folder *folder = walk->at; folder->parent; folder = folder->parent) {
        size_t begin = folder->parent->prefix;
        memcpy(walk->path + begin, folder->name, folder->prefix - begin - 1);
        walk->path[folder->prefix - 1] = '/';
    }
    walk->path[walk->at->prefix] = 0;
}

static bool is_dangling(int fd, const char *name, int why)
{
    struct stat about;
    bool nowhere = why == ENOENT || why == ENOTDIR || why == ELOOP;
    return nowhere && fstatat(fd, name, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(about.st_mode);
}

/* Real folders are read before links are followed, so that what a link leads to does not depend on the order
 * in which a file system has them. */
static rue_status meet_folder(struct walk *walk, int fd, const char *name, const struct stat *about,
                              struct rue_walk_entry *entry, rue_error *error)
{
    struct stat own;
    if (fstatat(fd, name, &own, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(own.st_mode))
        return add_link(walk, error);
    if (!is_among(walk, about, walk->before)) return add_folder(walk, name, about, error);
    entry->kind = RUE_WALK_AGAIN;
    return RUE_OK;
}

static rue_status meet(struct walk *walk, int fd, const char *name, rue_error *error)
{
    struct stat about;
    size_t prefix = walk->at->prefix, bytes = strlen(name) + 1;
    struct rue_walk_entry entry = {.path = walk->path, .name = walk->path + prefix};
    rue_status status = RUE_OK;
    if (name[0] == '.') return RUE_OK;
    if (prefix + bytes > walk->room) return fail(walk, name, ENAMETOOLONG, error);
    memcpy(walk->path + prefix, name, bytes);
    if (fstatat(fd, name, &about, 0) != 0) {
        int why = errno;
        if (!is_dangling(fd, name, why)) return fail(walk, name, why, error);
        entry.kind = RUE_WALK_DANGLING;
    } else if (S_ISDIR(about.st_mode)) {
        entry.kind = RUE_WALK_FOLDER;
        status = meet_folder(walk, fd, name, &about, &entry, error);
    } else {
        entry.kind = S_ISREG(about.st_mode) ? RUE_WALK_FILE : RUE_WALK_OTHER;
        entry.bytes = (uint64_t)about.st_size;
    }
    return status == RUE_OK ? walk->visit(walk->context, &entry, error) : status;
}

static rue_status read_folder(struct walk *walk, rue_error *error)
{
    put_prefix(walk);
    int fd = openat(walk->root_fd, walk->at->parent ? walk->path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        int why = errno;
        if (fd >= 0) close(fd);
        return fail(walk, "", why, error);
    }
    rue_status status = RUE_OK;
    while (status == RUE_OK) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (entry)
            status = meet(walk, fd, entry->d_name, error);
        else if (errno == 0)
            break;
        else if (errno != EINTR)
            status = fail(walk, "", errno, error);
    }
    closedir(folder);
    return status;
}

/* Reads the folder that was added last, and all real ones below it. */
static rue_status read_tree(struct walk *walk, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = walk->count - 1; status == RUE_OK && i < walk->count; i++) {
        walk->at = walk->folders[i];
        status = read_folder(walk, error);
    }
    return status;
}

static rue_status follow(struct walk *walk, const struct link *link, rue_error *error)
{
    struct stat about;
    walk->at = link->in;
    strcpy(walk->path, link->path);
    const char *name = walk->path + walk->at->prefix;
    if (fstatat(walk->root_fd, walk->path, &about, 0) != 0) return fail(walk, name, errno, error);
    if (is_among(walk, &about, walk->count)) {
        struct rue_walk_entry entry = {walk->path, name, RUE_WALK_AGAIN, 0};
        return walk->visit(walk->context, &entry, error);
    }
    walk->before = walk->count;
    rue_status status = add_folder(walk, name, &about, error);
    return status == RUE_OK ? read_tree(walk, error) : status;
}

static int compare_links(const void *left, const void *right)
{
    return strcmp(((const struct link *)left)->path, ((const struct link *)right)->path);
}

/* All that were met, by their paths; then those that were met behind them. */
static rue_status follow_links(struct walk *walk, rue_error *error)
{
    rue_status status = RUE_OK;
    while (status == RUE_OK && walk->link_count) {
        struct link *links = walk->links;
        size_t count = walk->link_count;
        walk->links = NULL;
        walk->link_count = walk->link_capacity = 0;
        qsort(links, count, sizeof *links, compare_links);
        for (size_t i = 0; i < count; i++) {
            if (status == RUE_OK) status = follow(walk, &links[i], error);
            free(links[i].path);
        }
        free(links);
    }
    return status;
}

static void keep_folder(void *folder)
{
    (void)folder; /* it is freed as one of `folders` */
}

rue_status rue_walk(const char *root, int root_fd, rue_walk_visit visit, void *context, rue_error *error)
{
    struct stat about;
    struct walk walk = {.root = root, .root_fd = root_fd, .visit = visit, .context = context};
    size_t used = strlen(root) + 1;
    walk.root_bytes = (int)used - 1;
    while (walk.root_bytes && root[walk.root_bytes - 1] == '/') walk.root_bytes--;
    walk.room = used < PATH_MAX ? PATH_MAX - used : 0;
    if (fstat(root_fd, &about) != 0)
        return rue_fail(error, rue_source_failure(errno), "cannot read %s: %s", root, strerror(errno));
    rue_status status = add_folder(&walk, "", &about, error);
    if (status == RUE_OK) status = read_tree(&walk, error);
    if (status == RUE_OK) status = follow_links(&walk, error);
    tdestroy(walk.tree, keep_folder);
    for (size_t i = 0; i < walk.count; i++) free(walk.folders[i]);
    for (size_t i = 0; i < walk.link_count; i++) free(walk.links[i].path);
    free(walk.folders);
    free(walk.links);
    return status;
}
