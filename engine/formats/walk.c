#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "array.h"
#include "source_failure.h"

/* A folder that was found. All of them are kept, as names alone, until the walk is over: the parents of one
 * are what tells a loop. */
struct folder {
    size_t parent; /* index; the root is its own */
    size_t prefix; /* bytes of its path below the root, the slash at the end included; 0 for the root */
    dev_t device;
    ino_t inode;
    char *name; /* owned; NULL for the root */
};

struct walk {
    const char *root;
    int root_bytes; /* of it, without the slashes at its end */
    size_t room;    /* for a path below the root, its NUL included */
    int root_fd;
    rue_walk_visit visit;
    void *context;
    struct folder *folders; /* [count], each behind its parent */
    size_t count, capacity;
    size_t at;           /* the folder that is read */
    char path[PATH_MAX]; /* of the entry; the prefix of the folder before it */
};

/* `name` "": the folder that is read. */
static rue_status fail(const struct walk *walk, const char *name, int why, rue_error *error)
{
    size_t prefix = walk->folders[walk->at].prefix;
    if (!prefix && !name[0])
        return rue_fail(error, rue_source_failure(why), "cannot read %s: %s%s", walk->root, strerror(why),
                        rue_advice(why));
    return rue_fail(error, rue_source_failure(why), "cannot read %.*s/%.*s%s: %s%s", walk->root_bytes,
                    walk->root, (int)(name[0] ? prefix : prefix - 1), walk->path, name, strerror(why),
                    rue_advice(why));
}

static rue_status add_folder(struct walk *walk, const char *name, const struct stat *about, rue_error *error)
{
    rue_status status = rue_array_grow(&walk->folders, &walk->capacity, walk->count + 1,
                                       sizeof *walk->folders, "the folders of the data", error);
    if (status != RUE_OK) return status;
    struct folder *folder = &walk->folders[walk->count];
    *folder = (struct folder){.parent = walk->at, .device = about->st_dev, .inode = about->st_ino};
    if (name) {
        folder->name = strdup(name);
        if (!folder->name) return rue_fail_memory(error, "the folders of the data", strlen(name) + 1);
        folder->prefix = walk->folders[walk->at].prefix + strlen(name) + 1;
    }
    walk->count++;
    return RUE_OK;
}

/* Whether the folder is the one that is read, or one on the way to it. */
static bool is_above(const struct walk *walk, const struct stat *about)
{
    for (size_t i = walk->at;; i = walk->folders[i].parent) {
        const struct folder *folder = &walk->folders[i];
        if (folder->device == about->st_dev && folder->inode == about->st_ino) return true;
        if (i == 0) return false;
    }
}

/* Puts the prefix of the folder that is read in front of `path`, from its end. */
static void put_prefix(struct walk *walk)
{
    for (size_t i = walk->at; i != 0; i = walk->folders[i].parent) {
        const struct folder *folder = &walk->folders[i];
        size_t begin = walk->folders[folder->parent].prefix;
        memcpy(walk->path + begin, folder->name, folder->prefix - begin - 1);
        walk->path[folder->prefix - 1] = '/';
    }
    walk->path[walk->folders[walk->at].prefix] = 0;
}

static bool is_dangling(int fd, const char *name, int why)
{
    struct stat about;
    bool nowhere = why == ENOENT || why == ENOTDIR || why == ELOOP;
    return nowhere && fstatat(fd, name, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(about.st_mode);
}

static rue_status meet(struct walk *walk, int fd, const char *name, rue_error *error)
{
    struct stat about;
    size_t prefix = walk->folders[walk->at].prefix, bytes = strlen(name) + 1;
    struct rue_walk_entry entry = {.path = walk->path, .name = walk->path + prefix};
    if (name[0] == '.') return RUE_OK;
    if (prefix + bytes > walk->room) return fail(walk, name, ENAMETOOLONG, error);
    memcpy(walk->path + prefix, name, bytes);
    if (fstatat(fd, name, &about, 0) != 0) {
        int why = errno;
        if (!is_dangling(fd, name, why)) return fail(walk, name, why, error);
        entry.kind = RUE_WALK_DANGLING;
    } else if (S_ISDIR(about.st_mode)) {
        if (!is_above(walk, &about)) return add_folder(walk, name, &about, error);
        return rue_fail(error, RUE_DATA, "%.*s/%s: symbolic links form a loop; remove the link",
                        walk->root_bytes, walk->root, walk->path);
    } else {
        entry.kind = S_ISREG(about.st_mode) ? RUE_WALK_FILE : RUE_WALK_OTHER;
        entry.bytes = (uint64_t)about.st_size;
    }
    return walk->visit(walk->context, &entry, error);
}

static rue_status read_folder(struct walk *walk, rue_error *error)
{
    put_prefix(walk);
    int fd = openat(walk->root_fd, walk->at ? walk->path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
    rue_status status = add_folder(&walk, NULL, &about, error);
    for (; status == RUE_OK && walk.at < walk.count; walk.at++) status = read_folder(&walk, error);
    for (size_t i = 0; i < walk.count; i++) free(walk.folders[i].name);
    free(walk.folders);
    return status;
}
