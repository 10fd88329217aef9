#include "lmdb_pages.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

enum { IS_BRANCH = 1, IS_LEAF = 2, IS_META = 8 };               /* of a page; unused pages have other bits */
enum { IS_FAR = 1, IS_DATABASE = 2, HAS_DUPLICATES = 4 };       /* of a node */
enum { IS_REVERSED = 2, SORTS_DUPLICATES = 4, IS_INTEGER = 8 }; /* of a database */
enum { MAGIC = 0xBEEFC0DE, VERSION = 1, DEPTH_MAX = 32 };

struct page_header {
    uint64_t number;
    uint16_t pad, flags;
    uint16_t lower, upper; /* begin and end of the free space between offsets and nodes */
};

struct database {
    uint32_t page_bytes; /* in the first database of a meta page: size of all pages */
    uint16_t flags, depth;
    uint64_t branch_pages, leaf_pages, overflow_pages, entries, root;
};

struct meta {
    uint32_t magic, version;
    uint64_t address, map_bytes;
    struct database free, main;
    uint64_t last_page, transaction;
};

struct node {
    uint16_t low, high, flags, key_bytes;
};

static_assert(sizeof(struct page_header) == 16 && sizeof(struct database) == 48 &&
                  sizeof(struct meta) == 136 && sizeof(struct node) == 8,
              "as liblmdb has them");

static const uint64_t no_page = UINT64_MAX;

struct walk {
    struct rue_files *files;
    const char *path;
    rue_lmdb_visit visit;
    void *context;
    uint64_t file_bytes, pages_left, entries;
    uint32_t page_bytes;
    struct meta meta;
    unsigned char *levels[DEPTH_MAX]; /* one page per level, allocated when needed */
    unsigned char last_key[RUE_LMDB_KEY_MAX];
    size_t last_key_bytes;
};

static rue_status fail_page(const struct walk *walk, uint64_t page, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s: page %" PRIu64 " at byte %" PRIu64 " %s; make it again", walk->path,
                    page, page * walk->page_bytes, why);
}

static rue_status fail_cut(const struct walk *walk, rue_error *error)
{
    return rue_fail(error, RUE_DATA,
                    "%s is truncated: it ends at byte %" PRIu64 ", and its meta page says byte %" PRIu64
                    "; copy it or make it again",
                    walk->path, walk->file_bytes, (walk->meta.last_page + 1) * walk->page_bytes);
}

static bool read_meta(int fd, uint64_t offset, struct meta *out)
{
    struct page_header header;
    return rue_read_at(fd, &header, sizeof header, offset) &&
           rue_read_at(fd, out, sizeof *out, offset + sizeof header) && header.flags == IS_META &&
           out->magic == MAGIC;
}

bool rue_lmdb_detect(int fd)
{
    struct meta meta;
    return read_meta(fd, 0, &meta);
}

/* The newer of the two valid meta pages; a crash may have damaged the other. */
static rue_status choose_meta(struct walk *walk, rue_error *error)
{
    struct meta first, second;
    errno = 0;
    int fd = rue_files_keep_open(walk->files, 0);
    bool one = fd >= 0 && read_meta(fd, 0, &first);
    if (!one && errno) return rue_fail_open(error, walk->path);
    if (!one)
        return rue_fail(error, RUE_DATA,
                        "%s is not an LMDB: it does not have a meta page; give a folder with data.mdb",
                        walk->path);
    if (first.version != VERSION)
        return rue_fail(error, RUE_DATA,
                        "%s has version %" PRIu32
                        " of the LMDB format: make it again with LMDB 0.9 (version %d)",
                        walk->path, first.version, VERSION);
    walk->page_bytes = first.free.page_bytes;
    if (walk->page_bytes < 512 || walk->page_bytes > 32768 || walk->page_bytes & (walk->page_bytes - 1))
        return rue_fail(error, RUE_DATA, "%s: its page size of %" PRIu32 " bytes is not valid; make it again",
                        walk->path, walk->page_bytes);
    bool two = read_meta(fd, walk->page_bytes, &second) && second.version == VERSION &&
               second.free.page_bytes == walk->page_bytes;
    walk->meta = two && second.transaction > first.transaction ? second : first;
    return walk->file_bytes < UINT64_C(2) * walk->page_bytes ? fail_cut(walk, error) : RUE_OK;
}

static rue_status check_meta(struct walk *walk, rue_error *error)
{
    const struct meta *meta = &walk->meta;
    const uint64_t limit = UINT64_C(1) << 48;
    const struct database *main = &meta->main;
    const char *why = NULL;
    if (meta->last_page >= limit / walk->page_bytes || main->branch_pages > meta->last_page ||
        main->leaf_pages > meta->last_page || main->entries > limit ||
        (main->root != no_page && main->root > meta->last_page) || main->depth > DEPTH_MAX ||
        (main->depth == 0) != (main->root == no_page))
        why = "its meta page is damaged; make it again";
    else if (main->flags & SORTS_DUPLICATES)
        why = "it has several values per key, which is not supported; store one value per key";
    else if (main->flags & (IS_REVERSED | IS_INTEGER))
        why = "its keys are integers or reversed, which is not supported; use plain keys";
    if (why) return rue_fail(error, RUE_DATA, "%s: %s", walk->path, why);
    walk->pages_left = main->branch_pages + main->leaf_pages;
    return RUE_OK;
}

static rue_status read_page(struct walk *walk, uint64_t number, unsigned level, rue_error *error)
{
    unsigned char **page = &walk->levels[level];
    if (!*page && !(*page = malloc(walk->page_bytes)))
        return rue_fail_memory(error, "a page of an LMDB", walk->page_bytes);
    if (number > walk->meta.last_page) return fail_page(walk, number, "is not in the file", error);
    if ((number + 1) * walk->page_bytes > walk->file_bytes) return fail_cut(walk, error);
    if (walk->pages_left-- == 0)
        return fail_page(walk, number, "is one page too many: the pages refer to each other in a cycle",
                         error);
    return rue_files_read(walk->files, 0, *page, walk->page_bytes, number * walk->page_bytes, error);
}

/* The node `index` of the page, or NULL if it lies outside the page. */
static const unsigned char *node_at(const struct walk *walk, const unsigned char *page, unsigned index,
                                    struct node *out)
{
    struct page_header header;
    uint16_t at;
    memcpy(&header, page, sizeof header);
    memcpy(&at, page + sizeof header + 2 * index, sizeof at);
    if (at < header.upper || at + sizeof *out > walk->page_bytes) return NULL;
    memcpy(out, page + at, sizeof *out);
    if (at + sizeof *out + out->key_bytes > walk->page_bytes) return NULL;
    return page + at;
}

/* Finds the value of a leaf's node. False: it lies outside the file. */
static bool find_value(const struct walk *walk, uint64_t page_number, const unsigned char *page,
                       const struct node *node, const unsigned char *key, struct rue_lmdb_entry *out)
{
    const unsigned char *data = key + node->key_bytes;
    uint64_t offset = (uint64_t)(data - page), number;
    out->bytes = node->low | (uint64_t)node->high << 16;
    if (!(node->flags & IS_FAR)) {
        out->offset = page_number * walk->page_bytes + offset;
        out->value = data;
        return offset + out->bytes <= walk->page_bytes;
    }
    if (offset + sizeof number > walk->page_bytes) return false;
    memcpy(&number, data, sizeof number);
    if (number < 2 || number > walk->meta.last_page) return false;
    out->offset = number * walk->page_bytes + sizeof(struct page_header);
    return out->offset + out->bytes <= (walk->meta.last_page + 1) * walk->page_bytes;
}

/* Keys ascend over the whole tree, so this detects pages that are visited twice or are outdated. */
static bool is_next_key(struct walk *walk, const unsigned char *key, size_t bytes)
{
    size_t common = bytes < walk->last_key_bytes ? bytes : walk->last_key_bytes;
    int order = memcmp(walk->last_key, key, common);
    if (bytes == 0 || bytes > RUE_LMDB_KEY_MAX || order > 0 || (order == 0 && walk->last_key_bytes >= bytes))
        return false;
    memcpy(walk->last_key, key, bytes);
    walk->last_key_bytes = bytes;
    return true;
}

static rue_status visit_leaf(struct walk *walk, uint64_t number, const unsigned char *page, unsigned count,
                             rue_error *error)
{
    for (unsigned i = 0; i < count; i++) {
        struct node node;
        const unsigned char *start = node_at(walk, page, i, &node);
        if (!start) return fail_page(walk, number, "is damaged: a node lies outside the page", error);
        const unsigned char *key = start + sizeof node;
        struct rue_lmdb_entry entry = {
            .key = key, .key_bytes = node.key_bytes, .is_database = node.flags & IS_DATABASE};
        if (node.flags & ~(IS_FAR | IS_DATABASE) || !find_value(walk, number, page, &node, key, &entry))
            return fail_page(walk, number, "is damaged: a value lies outside the file", error);
        if (entry.offset + entry.bytes > walk->file_bytes) return fail_cut(walk, error);
        if (!is_next_key(walk, key, node.key_bytes))
            return fail_page(walk, number, "is damaged: its keys are not in order", error);
        walk->entries++;
        rue_status status = walk->visit(walk->context, &entry, error);
        if (status != RUE_OK) return status;
    }
    return RUE_OK;
}

static rue_status visit_page(struct walk *walk, uint64_t number, unsigned level, rue_error *error)
{
    struct page_header header;
    rue_status status = read_page(walk, number, level, error);
    if (status != RUE_OK) return status;
    const unsigned char *page = walk->levels[level];
    memcpy(&header, page, sizeof header);
    bool is_last = level + 1 == walk->meta.main.depth;
    if (header.number != number || header.flags != (is_last ? IS_LEAF : IS_BRANCH))
        return fail_page(walk, number, "is damaged: it is not the expected page", error);
    if (header.lower < sizeof header || header.lower % 2 || header.lower > header.upper ||
        header.upper > walk->page_bytes)
        return fail_page(walk, number, "is damaged: its bounds are not valid", error);
    unsigned count = (header.lower - (unsigned)sizeof header) / 2;
    if (count == 0) return fail_page(walk, number, "is damaged: it is empty", error);
    if (is_last) return visit_leaf(walk, number, page, count, error);
    for (unsigned i = 0; status == RUE_OK && i < count; i++) {
        struct node node;
        if (!node_at(walk, page, i, &node))
            return fail_page(walk, number, "is damaged: a node lies outside the page", error);
        uint64_t child = node.low | (uint64_t)node.high << 16 | (uint64_t)node.flags << 32;
        status = visit_page(walk, child, level + 1, error);
    }
    return status;
}

rue_status rue_lmdb_walk(struct rue_files *files, rue_lmdb_visit visit, void *context, rue_error *error)
{
    struct walk walk = {.files = files,
                        .path = rue_files_path(files, 0),
                        .file_bytes = rue_files_identity(files, 0).bytes,
                        .visit = visit,
                        .context = context};
    rue_status status = choose_meta(&walk, error);
    if (status == RUE_OK) status = check_meta(&walk, error);
    if (status == RUE_OK && walk.meta.main.root != no_page)
        status = visit_page(&walk, walk.meta.main.root, 0, error);
    if (status == RUE_OK && walk.entries != walk.meta.main.entries)
        status = rue_fail(error, RUE_DATA,
                          "%s: its pages hold %" PRIu64 " entries, and its meta page says %" PRIu64
                          "; make it again",
                          walk.path, walk.entries, walk.meta.main.entries);
    for (unsigned level = 0; level < DEPTH_MAX; level++) free(walk.levels[level]);
    return status;
}
