#include "shards.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "archive_reader.h"
#include "index_file.h"
#include "made_with.h"

enum { CLASS_TEXT_MAX = 64 << 20, PATTERN_NAMES_MAX = 1000000, PATTERN_BRACES_MAX = 100 };
enum { PROBE_DEPTH = 4, PROBE_ENTRIES_MAX = 10000 };
enum {
    SPLITS_MAX = 8 /* more names are not splits of one data set, but classes, or names without a meaning */
};

/* ---- patterns ---- */

struct expansion {
    const char *pattern;
    struct rue_files **files;
    uint64_t visited;
};

/* Numbers with at least `width` digits. */
struct range {
    uint64_t first, last;
    int width;
};

static rue_status expand_braces(struct expansion *e, const char *text, size_t from, rue_error *error);

static rue_status fail_pattern(const struct expansion *e, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_USAGE, "the pattern %s %s: give one such as train-{000000..000012}.tar",
                    e->pattern, why);
}

/* Replaces the braces from `open` to `close` by `bytes` of `word`, and expands the result. */
static rue_status replace_braces(struct expansion *e, const char *text, const char *open, const char *close,
                                 const char *word, size_t bytes, rue_error *error)
{
    char path[PATH_MAX];
    int length =
        snprintf(path, sizeof path, "%.*s%.*s%s", (int)(open - text), text, (int)bytes, word, close + 1);
    if ((size_t)length >= sizeof path) return fail_pattern(e, "makes a path that is too long", error);
    return expand_braces(e, path, (size_t)(open - text), error);
}

/* Parses "000..012}". False: it is not a range. */
static bool read_range(const char *text, struct range *out)
{
    char first[19], last[19];
    int end = 0;
    if (sscanf(text, "%18[0-9]..%18[0-9]%n", first, last, &end) < 2 || text[end] != '}') return false;
    out->first = strtoull(first, NULL, 10);
    out->last = strtoull(last, NULL, 10);
    size_t digits = strlen(first) > strlen(last) ? strlen(first) : strlen(last);
    out->width = first[0] == '0' && first[1] ? (int)digits : 1;
    return out->first <= out->last;
}

static rue_status expand_range(struct expansion *e, const char *text, const char *open, const char *close,
                               const struct range *range, rue_error *error)
{
    char number[32];
    rue_status status = RUE_OK;
    if (range->last - range->first >= PATTERN_NAMES_MAX)
        return fail_pattern(e, "names more than 1,000,000 files", error);
    for (uint64_t value = range->first; status == RUE_OK && value <= range->last; value++) {
        int bytes = snprintf(number, sizeof number, "%0*" PRIu64, range->width, value);
        status = replace_braces(e, text, open, close, number, (size_t)bytes, error);
    }
    return status;
}

/* The first `requested` outside of inner braces, or NULL. */
static const char *find_outside(const char *at, const char *end, char requested)
{
    for (int depth = 0; at < end; at++) {
        if (*at == requested && depth == 0) return at;
        depth += (*at == '{') - (*at == '}');
    }
    return NULL;
}

static rue_status expand_list(struct expansion *e, const char *text, const char *open, const char *close,
                              rue_error *error)
{
    rue_status status = RUE_OK;
    for (const char *at = open + 1, *comma = at; status == RUE_OK && comma; at = comma + 1) {
        comma = find_outside(at, close, ',');
        status = replace_braces(e, text, open, close, at, (size_t)((comma ? comma : close) - at), error);
        if (!comma) break;
    }
    return status;
}

/* Expands the braces of `text`, which begin at `from` or later. */
static rue_status expand_braces(struct expansion *e, const char *text, size_t from, rue_error *error)
{
    const char *open = text + from + strcspn(text + from, "{}"), *end = open + strlen(open);
    if (!*open) {
        if (++e->visited > PATTERN_NAMES_MAX)
            return fail_pattern(e, "names more than 1,000,000 files", error);
        return rue_files_add(e->files, text, error);
    }
    const char *close = find_outside(open + 1, end, '}');
    if (*open != '{' || !close) return fail_pattern(e, "has an unmatched brace", error);
    struct range range;
    if (read_range(open + 1, &range)) return expand_range(e, text, open, close, &range, error);
    if (find_outside(open + 1, close, ',')) return expand_list(e, text, open, close, error);
    return fail_pattern(e, "has braces without a range or a list", error);
}

static rue_status add_pattern(struct rue_files **files, const char *pattern, rue_error *error)
{
    struct expansion e = {.pattern = pattern, .files = files};
    unsigned braces = 0;
    for (const char *at = pattern; *at; at++) braces += *at == '{';
    if (braces > PATTERN_BRACES_MAX) return fail_pattern(&e, "has more than 100 braces", error);
    return expand_braces(&e, pattern, 0, error);
}

/* ---- files ---- */

static bool is_folder(DIR *folder, const struct dirent *entry)
{
    struct stat info;
    if (entry->d_type != DT_UNKNOWN && entry->d_type != DT_LNK) return entry->d_type == DT_DIR;
    return fstatat(dirfd(folder), entry->d_name, &info, 0) == 0 && S_ISDIR(info.st_mode);
}

static rue_status add_folder(struct rue_files **files, const char *path, bool (*is_shard)(const char *name),
                             rue_error *error)
{
    DIR *folder = opendir(path);
    if (!folder) return rue_fail_open(error, path);
    rue_status status = RUE_OK;
    size_t length = strlen(path), visible = 0;
    const char *slash = length && path[length - 1] == '/' ? "" : "/";
    char name[PATH_MAX];
    for (struct dirent *entry; status == RUE_OK && (entry = readdir(folder));) {
        bool hidden = entry->d_name[0] == '.';
        visible += !hidden;
        if (hidden || !is_shard(entry->d_name) || is_folder(folder, entry)) continue;
        if ((size_t)snprintf(name, sizeof name, "%s%s%s", path, slash, entry->d_name) >= sizeof name)
            status = rue_fail(error, RUE_DATA, "the path %s/%s is too long", path, entry->d_name);
        else
            status = rue_files_add(files, name, error);
    }
    closedir(folder);
    if (status == RUE_OK && rue_files_count(*files) == 0)
        return rue_fail(error, RUE_DATA,
                        "%s holds no shard of this format among its %zu files: give a folder of shards", path,
                        visible);
    if (status == RUE_OK) rue_files_sort(*files);
    return status;
}

bool rue_shards_is_pattern(const char *path)
{
    struct stat info;
    return strchr(path, '{') && lstat(path, &info) != 0;
}

rue_status rue_shards_add(const char *path, bool (*is_shard)(const char *name), struct rue_files **files,
                          rue_error *error)
{
    struct stat info;
    if (rue_shards_is_pattern(path)) return add_pattern(files, path, error);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return add_folder(files, path, is_shard, error);
    return rue_files_add(files, path, error);
}

/* ---- probing ---- */

/* Whether the file may be data. Beside shards, images of other types are previews and plots. */
static bool is_photo_name(const char *name)
{
    return rue_files_image_kind(name) == RUE_IMAGE_JPEG;
}

/* Whether there is a JPEG file in the folder, or in folders within it. Gives up when `*left` entries were
 * read. */
static bool holds_photo(int parent, const char *name, int depth, int *left)
{
    bool found = false;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *entry; folder && !found && --*left > 0 && (entry = readdir(folder));)
        found = entry->d_name[0] != '.' &&
                (is_photo_name(entry->d_name) ||
                 (depth > 1 && is_folder(folder, entry) && holds_photo(fd, entry->d_name, depth - 1, left)));
    if (folder)
        closedir(folder);
    else if (fd >= 0)
        close(fd);
    return found;
}

static rue_status probe_shard_folder(const struct rue_shard_format *format, const char *path, bool *matches,
                                     rue_error *error)
{
    DIR *folder = opendir(path);
    if (!folder)
        return rue_fail(error, rue_source_failure(errno), "cannot read %s: %s%s", path, strerror(errno),
                        rue_advice(errno));
    bool shards = false, images = false;
    int left = PROBE_ENTRIES_MAX;
    for (struct dirent *entry; !images && (entry = readdir(folder));) {
        const char *name = entry->d_name;
        bool hidden = name[0] == '.', inner = !hidden && is_folder(folder, entry);
        shards |= !hidden && !inner && format->is_shard(name);
        images =
            !hidden && (inner ? holds_photo(dirfd(folder), name, PROBE_DEPTH, &left) : is_photo_name(name));
    }
    closedir(folder);
    *matches = shards && !images;
    return RUE_OK;
}

rue_status rue_shards_probe(const struct rue_shard_format *format, const char *path, bool *matches,
                            bool *regular, rue_error *error)
{
    struct stat info;
    bool named = format->is_shard(path), pattern = rue_shards_is_pattern(path);
    *regular = false;
    *matches = pattern && named;
    if (pattern) return RUE_OK;
    if (stat(path, &info) != 0) return rue_fail_open(error, path);
    if (S_ISDIR(info.st_mode)) return probe_shard_folder(format, path, matches, error);
    *regular = S_ISREG(info.st_mode);
    *matches = *regular && named;
    return RUE_OK;
}

/* ---- opening ---- */

void rue_shards_skip_empty(struct rue_index *index, uint32_t shard)
{
    rue_index_skip(index, "%s, an empty shard", rue_files_path(index->files, shard));
}

/* The position in compressed shards. */
struct cursor {
    pthread_mutex_t lock;              /* guards the other members */
    struct rue_archive_reader *reader; /* NULL: not open */
    uint32_t file;                     /* number of the open shard */
};

/* Opens the file `name` beside the first shard, and writes its path; `*files` is NULL if it does not exist.
 */
static rue_status open_beside(const struct rue_index *index, const char *name, char path[PATH_MAX + 16],
                              struct rue_files **files, rue_error *error)
{
    const char *shard = rue_files_path(index->files, 0), *slash = strrchr(shard, '/');
    struct stat info;
    *files = NULL;
    snprintf(path, PATH_MAX + 16, "%.*s%s", slash ? (int)(slash + 1 - shard) : 0, shard, name);
    return stat(path, &info) != 0 && errno == ENOENT ? RUE_OK : rue_files_add(files, path, error);
}

static rue_status read_made_with(struct rue_index *index, rue_error *error)
{
    char path[PATH_MAX + 16], text[RUE_MADE_WITH_BYTES];
    struct rue_files *files;
    rue_status status = open_beside(index, RUE_MADE_WITH_FILE, path, &files, error);
    uint64_t bytes = files ? rue_files_identity(files, 0).bytes : 0;
    if (bytes > sizeof text) bytes = sizeof text;
    if (status == RUE_OK && bytes) status = rue_files_read(files, 0, text, bytes, 0, error);
    if (status == RUE_OK) rue_made_with_read(text, bytes, index->made_with);
    rue_files_close(files);
    return status;
}

/* Reads class names from a file beside the first shard, if it exists: line i is class i, without a byte order
 * mark. An empty line is a class without a name. */
static rue_status read_classes(struct rue_index *index, rue_error *error)
{
    char path[PATH_MAX + 16];
    struct rue_files *files;
    rue_status status = open_beside(index, RUE_CLASS_LIST_FILE, path, &files, error);
    if (status != RUE_OK || !files) return status;
    uint64_t bytes = rue_files_identity(files, 0).bytes;
    char *text = bytes <= CLASS_TEXT_MAX ? malloc(bytes + 1) : NULL;
    if (bytes > CLASS_TEXT_MAX)
        status = rue_fail(error, RUE_DATA, "%s is longer than 64 MiB; write one class name per line", path);
    else
        status = text ? rue_files_read(files, 0, text, bytes, 0, error)
                      : rue_fail_memory(error, "class names", bytes);
    rue_files_close(files);
    if (status == RUE_OK && memchr(text, 0, bytes))
        status = rue_fail(error, RUE_DATA, "%s is not a text file; write one class name per line", path);
    if (status == RUE_OK) text[bytes] = 0;
    const char *line = status == RUE_OK ? text + (strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0) : NULL;
    while (status == RUE_OK && *line) {
        size_t length = strcspn(line, "\n");
        bool returns = length && line[length - 1] == '\r';
        status = rue_index_add_class(index, line, length - returns, error);
        line += length + (line[length] == '\n');
    }
    free(text);
    return status;
}

static bool differ_in_numbers_only(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (isdigit((unsigned char)*a)) a++;
        while (isdigit((unsigned char)*b)) b++;
        if (*a != *b || !*a) return *a == *b;
    }
}

/* A folder may hold the shards of several splits, such as train and test. */
static void note_splits(struct rue_index *index)
{
    const char *names[SPLITS_MAX];
    size_t found = 0;
    for (size_t i = 0; i < rue_files_count(index->files); i++) {
        const char *path = rue_files_path(index->files, i), *name = strrchr(path, '/') + 1;
        size_t same = 0;
        while (same < found && !differ_in_numbers_only(names[same], name)) same++;
        if (same < found) continue;
        if (found == SPLITS_MAX) return;
        names[found++] = name;
    }
    if (found > 1)
        rue_index_note(index,
                       "the shards have %zu names, such as %s and %s: to read those of one name, give a "
                       "pattern such as train-{000000..000012}.tar",
                       found, names[0], names[1]);
}

/* A name such as x-00001-of-00004.tar, which says how many shards there are. */
struct numbered {
    const char *path, *name;
    size_t head, tail; /* bytes before the number, and after the total without the suffix of a compression */
    int digits;        /* of the number */
    const char *rest;  /* of the name, after the number */
    const char *end;   /* of the total */
    uint64_t number, total;
};

static size_t length_unpacked(const char *name)
{
    static const char *const packed[] = {".gz", ".zlib", ".bz2", ".xz", ".zst", ".lz4"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof packed / sizeof *packed; i++)
        if (strcmp(dot, packed[i]) == 0) return (size_t)(dot - name);
    return strlen(name);
}

/* False: the name has no total at its end. */
static bool read_numbered(const char *path, struct numbered *out)
{
    const char *name = strrchr(path, '/') + 1, *rest = NULL;
    for (const char *at = strstr(name, "-of-"); at; at = strstr(at + 1, "-of-"))
        if (at > name && isdigit((unsigned char)at[-1]) && isdigit((unsigned char)at[4])) rest = at;
    if (!rest) return false;
    const char *number = rest;
    while (number > name && isdigit((unsigned char)number[-1])) number--;
    char *end;
    *out = (struct numbered){.path = path,
                             .name = name,
                             .head = (size_t)(number - name),
                             .digits = (int)(rest - number),
                             .rest = rest,
                             .number = strtoull(number, NULL, 10),
                             .total = strtoull(rest + 4, &end, 10)};
    out->end = end;
    out->tail = length_unpacked(end);
    return (!*end || *end == '.') && out->number < UINT64_MAX && out->total < UINT64_MAX;
}

static int compare_texts(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    if (a_bytes != b_bytes) return a_bytes < b_bytes ? -1 : 1;
    return memcmp(a, b, a_bytes);
}

static int compare_sets(const struct numbered *a, const struct numbered *b)
{
    int order = compare_texts(a->name, a->head, b->name, b->head);
    return order ? order : compare_texts(a->end, a->tail, b->end, b->tail);
}

static int compare_numbered(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    int order = compare_sets(a, b);
    if (order) return order;
    if (a->total != b->total) return a->total < b->total ? -1 : 1;
    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Both have the items of other shards again. `last` is the last shard of the set of `known`. */
static rue_status fail_two_sets(const char *path, const struct numbered *known, const struct numbered *other,
                                const struct numbered *last, rue_error *error)
{
    return rue_fail(error, RUE_DATA,
                    "%s holds several sets of shards, such as %s and %s: give a pattern such as "
                    "%.*s{%0*" PRIu64 "..%0*" PRIu64 "}%s, or remove the old ones",
                    path, other->name, known->name, (int)(known->name - known->path) + (int)known->head,
                    known->path, known->digits, known->number, known->digits, last->number, known->rest);
}

/* Checks the `count` shards of one name. */
static rue_status check_set(struct rue_index *index, const char *path, const struct numbered *set,
                            size_t count, rue_error *error)
{
    const struct numbered *last = &set[count - 1], *known = last;
    while (known > set && known[-1].total == last->total) known--;
    if (known > set) return fail_two_sets(path, known, set, last, error);
    for (size_t i = 1; i < count; i++)
        if (set[i].number == set[i - 1].number) return fail_two_sets(path, &set[i - 1], &set[i], last, error);
    if (count >= set->total) return RUE_OK;
    uint64_t missing = set->number == 1 && last->number == set->total; /* the first number is 0, or 1 */
    for (size_t i = 0; i < count && set[i].number == missing; i++) missing++;
    rue_index_note(index, "%zu of %" PRIu64 " shards found: %.*s%0*" PRIu64 "%s is missing", count,
                   set->total, (int)set->head, set->name, set->digits, missing, set->rest);
    return RUE_OK;
}

/* A folder may hold the shards of an old and of a new run, or lack some. */
static rue_status check_totals(struct rue_index *index, const char *path, rue_error *error)
{
    size_t files = rue_files_count(index->files), count = 0;
    struct numbered *shards = malloc(files * sizeof *shards);
    if (!shards) return rue_fail_memory(error, "the names of shards", files * sizeof *shards);
    for (size_t i = 0; i < files; i++)
        count += read_numbered(rue_files_path(index->files, i), &shards[count]);
    qsort(shards, count, sizeof *shards, compare_numbered);
    rue_status status = RUE_OK;
    for (size_t first = 0, end = 0; status == RUE_OK && first < count; first = end) {
        while (end < count && compare_sets(&shards[first], &shards[end]) == 0) end++;
        status = check_set(index, path, &shards[first], end - first, error);
    }
    free(shards);
    return status;
}

static const char *text_or_empty(const char *key)
{
    return key ? key : "";
}

/* Compressed shards can only be read in order. */
static rue_status open_cursor(struct rue_index *index, const struct rue_source_options *options,
                              rue_error *error)
{
    if (!options->sequential)
        return rue_fail(error, RUE_DATA,
                        "%s is compressed, so its items cannot be read in random order: decompress it, or "
                        "convert it with rue prepare",
                        rue_files_path(index->files, 0));
    struct cursor *cursor = index->state = calloc(1, sizeof *cursor);
    if (!cursor) return rue_fail_memory(error, "reading shards", sizeof *cursor);
    pthread_mutex_init(&cursor->lock, NULL);
    return RUE_OK;
}

rue_status rue_shards_open(const struct rue_shard_format *format, const char *path,
                           const struct rue_source_options *options, struct rue_index *index,
                           rue_error *error)
{
    char identity[512];
    snprintf(identity, sizeof identity, "%s image %.200s label %.200s", format->version,
             text_or_empty(options->image_key), text_or_empty(options->label_key));
    rue_status status = rue_shards_add(path, format->is_shard, &index->files, error);
    bool whole_folder = status == RUE_OK && !rue_shards_is_pattern(path) &&
                        strcmp(path, rue_files_path(index->files, 0)) != 0;
    if (status == RUE_OK && !rue_index_file_load(index, path, identity)) {
        if (whole_folder) note_splits(index);
        if (whole_folder) status = check_totals(index, path, error);
        if (status == RUE_OK) status = format->index(path, options, index, error);
        if (status == RUE_OK && !options->read_only) rue_index_file_save(index, path, identity);
    }
    if (status == RUE_OK && index->compressed) status = open_cursor(index, options, error);
    if (status == RUE_OK && index->mode == RUE_PREPROCESSED) status = read_made_with(index, error);
    return status == RUE_OK ? read_classes(index, error) : status;
}

/* ---- operations ---- */

void rue_shards_close(void *state)
{
    struct cursor *cursor = state;
    rue_archive_reader_close(cursor->reader);
    pthread_mutex_destroy(&cursor->lock);
    free(cursor);
}

/* Opens the shard of the item, unless it is open at or before the item. */
static rue_status find_shard(const struct rue_index *index, struct cursor *cursor,
                             const struct rue_entry *entry, rue_error *error)
{
    if (cursor->reader && cursor->file == entry->file &&
        rue_archive_reader_position(cursor->reader) <= entry->offset)
        return RUE_OK;
    rue_archive_reader_close(cursor->reader);
    cursor->reader = NULL;
    cursor->file = entry->file;
    return rue_archive_reader_open(index->files, entry->file, RUE_ARCHIVE_BYTES, &cursor->reader, error);
}

static rue_status read_in_order(const struct rue_index *index, const struct rue_entry *entry, void *into,
                                rue_error *error)
{
    struct cursor *cursor = index->state;
    char passed[4096];
    rue_status status = find_shard(index, cursor, entry, error);
    uint64_t some = 0, requested = 0;
    while (status == RUE_OK && some == requested &&
           rue_archive_reader_position(cursor->reader) < entry->offset) {
        uint64_t ahead = entry->offset - rue_archive_reader_position(cursor->reader);
        requested = ahead < sizeof passed ? ahead : sizeof passed;
        status = rue_archive_reader_read(cursor->reader, passed, requested, &some, error);
    }
    if (status == RUE_OK) status = rue_archive_reader_read(cursor->reader, into, entry->bytes, &some, error);
    if (status != RUE_OK || some == entry->bytes) return status;
    return rue_fail(error, RUE_DATA, "%s became shorter: do not change the data while rue runs",
                    rue_files_path(index->files, entry->file));
}

rue_status rue_shards_read(const struct rue_index *index, uint64_t item, void *into, rue_error *error)
{
    const struct rue_entry *entry = &index->entries[item];
    struct cursor *cursor = index->state;
    if (!cursor) return rue_files_read(index->files, entry->file, into, entry->bytes, entry->offset, error);
    pthread_mutex_lock(&cursor->lock);
    rue_status status = read_in_order(index, entry, into, error);
    pthread_mutex_unlock(&cursor->lock);
    return status;
}
