/* The folder format: images below a folder, as in torchvision's ImageFolder. The class of a file is the
 * first folder of its path. The classes are the folders with any file that ImageFolder accepts, also a hidden
 * one or a TIFF, so that classes have the same numbers. Files directly in the folder have class 0 if no image
 * is in a class folder, and else are skipped, as in ImageFolder. Items are sorted by the bytes of their
 * paths. Hidden files (".x") are skipped. Symbolic links are followed, but each class reads a folder once. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "advice.h"
#include "array.h"
#include "files.h"
#include "source.h"

/* A folder, and a link to it or its path. */
struct place {
    dev_t device;
    ino_t inode;
    char *path; /* of a link */
};

/* Entries below the data folder that may have been expected to be classes with images. */
struct remark {
    uint64_t count;
    char first[NAME_MAX + 1];
};

/* The state while a folder is opened. */
struct walk {
    const char *path;
    struct rue_index *index;
    const struct rue_source_options *options;
    struct place root;
    void *visited;       /* a tree (tsearch) of the folders that the class has read */
    struct place *links; /* links to folders in the class, in the order in which they were found */
    size_t link_count, link_capacity;
    bool hidden_too; /* only look for images, also hidden ones */
    bool has_image;  /* a file that ImageFolder accepts was found in the class */
    struct remark without_item, without_image;
};

static rue_status probe_folder(const char *path, bool *matches, rue_error *error)
{
    struct stat info;
    if (stat(path, &info) != 0) return rue_fail_open(error, path);
    *matches = S_ISDIR(info.st_mode);
    return RUE_OK;
}

static rue_status fail_folder(const char *path, int why, rue_error *error)
{
    return rue_fail(error, rue_source_failure(why), "cannot read %s: %s%s", path, strerror(why),
                    rue_advice(why));
}

/* ---- files ---- */

/* Whether ImageFolder accepts the name. */
static bool is_image_name(const char *name)
{
    static const char *const endings[] = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                          ".pgm", ".tif",  ".tiff", ".webp"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i]) == 0) return true;
    return false;
}

/* Adds the file `path`, or skips it. */
static rue_status add_file(struct walk *walk, const char *path, const struct stat *info, rue_error *error)
{
    const char *name = path + strlen(walk->path);
    while (*name == '/') name++;
    walk->has_image |= is_image_name(name);
    if (walk->hidden_too) return RUE_OK;
    const struct rue_entry item = {.bytes = (uint64_t)info->st_size};
    if (!S_ISREG(info->st_mode))
        rue_index_skip(walk->index, "%s, %s", path,
                       info->st_mode ? "neither a file nor a folder" : "a broken link");
    else if (rue_files_image_kind(name))
        return rue_index_add(walk->index, &item, name, error);
    else
        rue_index_skip(walk->index, "%s, not an image that is read", name);
    return RUE_OK;
}

/* ---- folders ---- */

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->inode != y->inode) return x->inode < y->inode ? -1 : 1;
    return (x->device > y->device) - (x->device < y->device);
}

/* Sets `*first` to whether the class has not read this folder yet. */
static rue_status visit_folder(struct walk *walk, const struct place *place, bool *first, rue_error *error)
{
    struct place *added = malloc(sizeof *added);
    if (added) *added = *place;
    struct place **found = added ? tsearch(added, &walk->visited, compare_places) : NULL;
    *first = found && *found == added;
    if (!*first) free(added);
    return found ? RUE_OK : rue_fail_memory(error, "the folders of a class", sizeof *added);
}

static rue_status keep_link(struct walk *walk, const char *path, struct place place, rue_error *error)
{
    rue_status status = rue_array_grow(&walk->links, &walk->link_capacity, walk->link_count + 1, sizeof place,
                                       "links to folders", error);
    if (status != RUE_OK) return status;
    place.path = strdup(path);
    if (!place.path) return rue_fail_memory(error, "links to folders", strlen(path));
    walk->links[walk->link_count++] = place;
    return RUE_OK;
}

static rue_status walk_folder(struct walk *walk, char path[PATH_MAX], bool top, rue_error *error);

/* Reads the folder, unless the class has read it. */
static rue_status enter_folder(struct walk *walk, char path[PATH_MAX], const struct place *place,
                               rue_error *error)
{
    bool first;
    rue_status status = visit_folder(walk, place, &first, error);
    if (status == RUE_OK && first) return walk_folder(walk, path, false, error);
    if (status == RUE_OK && !walk->hidden_too)
        rue_index_skip(walk->index, "%s, a link to a folder that is read already", path);
    return status;
}

/* Reads a class: first its folders, then links, so that a folder has its own name where it has one. Links in
 * a class to the whole data are skipped. */
static rue_status read_class(struct walk *walk, char path[PATH_MAX], const struct place *place,
                             rue_error *error)
{
    bool first;
    char link[PATH_MAX];
    rue_status status = walk->hidden_too ? RUE_OK : visit_folder(walk, &walk->root, &first, error);
    if (status == RUE_OK) status = enter_folder(walk, path, place, error);
    for (size_t i = 0; i < walk->link_count; i++) {
        const struct place linked = walk->links[i];
        snprintf(link, sizeof link, "%s", linked.path);
        if (status == RUE_OK) status = enter_folder(walk, link, &linked, error);
        free(linked.path);
    }
    walk->link_count = 0;
    tdestroy(walk->visited, free);
    walk->visited = NULL;
    return status;
}

static void count_remark(struct remark *remark, const char *name)
{
    if (!remark->count++) snprintf(remark->first, sizeof remark->first, "%s", name);
}

/* Adds a folder below the data folder. ImageFolder also counts hidden folders and files. */
static rue_status add_class(struct walk *walk, char path[PATH_MAX], const struct place *place,
                            rue_error *error)
{
    const char *name = strrchr(path, '/') + 1;
    uint64_t items = walk->index->count;
    rue_status status = RUE_OK;
    walk->has_image = false;
    if (*name != '.') status = read_class(walk, path, place, error);
    walk->hidden_too = true;
    if (status == RUE_OK && !walk->has_image) status = read_class(walk, path, place, error);
    walk->hidden_too = false;
    if (status != RUE_OK || walk->index->count > items) return status;
    if (walk->has_image) {
        count_remark(&walk->without_item, name);
        return rue_index_add_class(walk->index, name, strlen(name), error);
    }
    if (*name != '.') count_remark(&walk->without_image, name);
    return RUE_OK;
}

/* Sets `info` to what `path` is, and `*link` to whether it is a link to that; {0} if the link is broken. */
static int read_kind(const char *path, struct stat *info, bool *link)
{
    int failed = fstatat(AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW);
    *link = !failed && S_ISLNK(info->st_mode);
    if (*link) failed = fstatat(AT_FDCWD, path, info, 0);
    if (!failed || (errno != ENOENT && errno != ELOOP && errno != ENOTDIR)) return failed;
    *info = (struct stat){0};
    return 0;
}

static rue_status add_entry(struct walk *walk, char path[PATH_MAX], bool top, rue_error *error)
{
    struct stat info;
    bool link;
    if (read_kind(path, &info, &link) != 0)
        return walk->hidden_too ? RUE_OK : fail_folder(path, errno, error);
    const struct place place = {.device = info.st_dev, .inode = info.st_ino};
    bool hidden = strrchr(path, '/')[1] == '.';
    if (!S_ISDIR(info.st_mode)) return top && hidden ? RUE_OK : add_file(walk, path, &info, error);
    if (top) return add_class(walk, path, &place, error);
    return link ? keep_link(walk, path, place, error) : enter_folder(walk, path, &place, error);
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int is_not_dots(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int compare_entries(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Adds everything in the folder `path`; `top`: the data folder. Changes `path`, and restores it. */
static rue_status walk_folder(struct walk *walk, char path[PATH_MAX], bool top, rue_error *error)
{
    struct dirent **entries;
    size_t length = strlen(path), name_bytes = PATH_MAX - length;
    int count = scandir(path, &entries, top || walk->hidden_too ? is_not_dots : is_shown, compare_entries);
    if (count < 0) return walk->hidden_too ? RUE_OK : fail_folder(path, errno, error);
    rue_status status = RUE_OK;
    for (int i = 0; i < count; free(entries[i++])) {
        if (status == RUE_OK) status = rue_source_check_stop(walk->options, error);
        if (status != RUE_OK || (walk->hidden_too && walk->has_image)) continue;
        bool fits = snprintf(path + length, name_bytes, "/%s", entries[i]->d_name) < (int)name_bytes;
        if (fits) status = add_entry(walk, path, top, error);
        path[length] = 0;
        if (!fits && !walk->hidden_too) status = fail_folder(path, ENAMETOOLONG, error);
    }
    free(entries);
    return status;
}

/* ---- the source ---- */

/* Compares bytewise, but the end of a folder's name sorts first. So the files of each class follow each
 * other, and classes whose names are UTF-8 are in the order of their names ("a" before "a-b"). */
static int compare_item_names(const void *a, const void *b, void *names)
{
    const unsigned char *x = (unsigned char *)names + ((const struct rue_entry *)a)->name;
    const unsigned char *y = (unsigned char *)names + ((const struct rue_entry *)b)->name;
    while (*x && *x == *y) x++, y++;
    return (*x == '/' ? 1 : *x + 1) * (*x != 0) - (*y == '/' ? 1 : *y + 1) * (*y != 0);
}

/* What makes the classes differ from those of other readers. */
static void note_classes(const struct walk *walk)
{
    const struct remark *item = &walk->without_item, *image = &walk->without_image;
    if (item->count)
        rue_index_note(walk->index,
                       "classes without an image that is read: %" PRIu64
                       ", such as %s, which have their numbers as in "
                       "ImageFolder",
                       item->count, item->first);
    if (image->count)
        rue_index_note(walk->index,
                       "folders without an image: %" PRIu64 ", such as %s, which are not classes",
                       image->count, image->first);
}

static rue_status open_folder(const char *path, const struct rue_source_options *options,
                              struct rue_index *index, rue_error *error)
{
    struct walk walk = {.path = path, .index = index, .options = options};
    struct stat info;
    char place[PATH_MAX];
    index->kind = RUE_ITEM_FILE;
    rue_status status = rue_files_set_folder(&index->files, path, error);
    if (status == RUE_OK && snprintf(place, sizeof place, "%s", path) >= PATH_MAX)
        status = fail_folder(path, ENAMETOOLONG, error);
    if (status == RUE_OK && stat(path, &info) != 0) status = fail_folder(path, errno, error);
    if (status != RUE_OK) return status;
    walk.root = (struct place){.device = info.st_dev, .inode = info.st_ino};
    status = walk_folder(&walk, place, true, error);
    free(walk.links);
    if (status != RUE_OK || index->count == 0) return status;
    qsort_r(index->entries, index->count, sizeof *index->entries, compare_item_names, index->names.text);
    status = rue_index_label_by_folder(index, error);
    index->remarks.unlabelled = index->class_count == 0;
    if (index->class_count > 0) note_classes(&walk);
    return status;
}

const struct rue_source_ops rue_source_folder = {
    .format = "folder",
    .has_mode = {[RUE_RAW] = true},
    .help = "a folder of images, one folder a class, nested or flat",
    .probe = probe_folder,
    .open = open_folder,
};
