#include "shards.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "advice.h"
#include "archive_reader.h"
#include "index_file.h"

enum { CLASS_TEXT_MAX = 64 << 20 };

/* ---- patterns ---- */

enum { DIGITS_MAX = 18 };
static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

struct expansion {
    const char *pattern;
    rue_status (*visit)(void *context, const char *path, rue_error *error);
    void *context;
    uint64_t visited;
};

struct range {
    int64_t first, last, step;
    int width; /* of numbers; 0: places in `letters` */
};

static rue_status expand(struct expansion *e, const char *text, size_t from, rue_error *error);

static rue_status refuse(const struct expansion *e, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_USAGE, "the pattern %s %s: give one such as train-{000000..000012}.tar",
                    e->pattern, why);
}

/* Puts `bytes` of `word` in the place of the braces from `open` to `close`, and goes on there. */
static rue_status replace(struct expansion *e, const char *text, const char *open, const char *close,
                          const char *word, size_t bytes, rue_error *error)
{
    char path[PATH_MAX];
    int length =
        snprintf(path, sizeof path, "%.*s%.*s%s", (int)(open - text), text, (int)bytes, word, close + 1);
    if ((size_t)length >= sizeof path) return refuse(e, "makes too long a path", error);
    return expand(e, path, (size_t)(open - text), error);
}

/* Bytes of the number at `text`, 0 for none or a longer one than is meant. */
static size_t number_bytes(const char *text)
{
    size_t sign = *text == '-', digits = strspn(text + sign, "0123456789");
    return digits && digits <= DIGITS_MAX ? sign + digits : 0;
}

static bool is_padded(const char *number, size_t bytes)
{
    size_t sign = *number == '-';
    return number[sign] == '0' && bytes > sign + 1;
}

/* "000..012", "c..a" or "0..8..2", all of the text; false where it is none. */
static bool read_range(const char *at, const char *end, struct range *out)
{
    char text[4 * DIGITS_MAX];
    if ((size_t)(end - at) >= sizeof text) return false;
    snprintf(text, sizeof text, "%.*s", (int)(end - at), at);
    const char *last = strstr(text, ".."), *rest = last;
    if (!last) return false;
    last += 2;
    size_t from = number_bytes(text), to = number_bytes(last);
    *out = (struct range){.step = 1};
    if (from && to && text + from + 2 == last) {
        out->first = strtoll(text, NULL, 10);
        out->last = strtoll(last, NULL, 10);
        out->width = is_padded(text, from) || is_padded(last, to) ? (int)(from > to ? from : to) : 1;
        rest = last + to;
    } else if (isalpha((unsigned char)*text) && text + 3 == last && isalpha((unsigned char)*last)) {
        out->first = strchr(letters, *text) - letters;
        out->last = strchr(letters, *last) - letters;
        rest = last + 1;
    } else {
        return false;
    }
    if (!*rest) return true;
    if (strncmp(rest, "..", 2) != 0 || !number_bytes(rest + 2) || rest[2 + number_bytes(rest + 2)])
        return false;
    int64_t step = llabs(strtoll(rest + 2, NULL, 10));
    out->step = step ? step : 1;
    return true;
}

static rue_status expand_range(struct expansion *e, const char *text, const char *open, const char *close,
                               const struct range *range, rue_error *error)
{
    char number[32];
    int64_t steps = llabs(range->last - range->first) / range->step;
    int64_t step = range->last < range->first ? -range->step : range->step;
    if (steps >= RUE_SHARD_PATTERN_MAX) return refuse(e, "names too many files", error);
    rue_status status = RUE_OK;
    for (int64_t i = 0; status == RUE_OK && i <= steps; i++) {
        int64_t value = range->first + i * step;
        int bytes = snprintf(number, sizeof number, "%0*" PRId64, range->width, value);
        status = range->width ? replace(e, text, open, close, number, (size_t)bytes, error)
                              : replace(e, text, open, close, letters + value, 1, error);
    }
    return status;
}

/* Where `wanted` stands outside of inner braces; NULL: nowhere. */
static const char *find_outside(const char *at, const char *end, char wanted)
{
    for (int depth = 0; at < end; at++) {
        if (*at == wanted && depth == 0) return at;
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
        status = replace(e, text, open, close, at, (size_t)((comma ? comma : close) - at), error);
        if (!comma) break;
    }
    return status;
}

/* Expands the braces of `text`; there are none before `from`. */
static rue_status expand(struct expansion *e, const char *text, size_t from, rue_error *error)
{
    const char *open = text + from + strcspn(text + from, "{}"), *end = open + strlen(open);
    if (!*open) {
        if (++e->visited > RUE_SHARD_PATTERN_MAX) return refuse(e, "names too many files", error);
        return e->visit(e->context, text, error);
    }
    const char *close = find_outside(open + 1, end, '}');
    if (*open != '{' || !close) return refuse(e, "has a brace without its other one", error);
    struct range range;
    if (read_range(open + 1, close, &range)) return expand_range(e, text, open, close, &range, error);
    if (find_outside(open + 1, close, ',')) return expand_list(e, text, open, close, error);
    return refuse(e, "has braces without a range", error);
}

rue_status rue_shard_pattern_expand(const char *pattern,
                                    rue_status (*visit)(void *context, const char *path, rue_error *error),
                                    void *context, rue_error *error)
{
    struct expansion e = {.pattern = pattern, .visit = visit, .context = context};
    unsigned braces = 0;
    for (const char *at = pattern; *at; at++) braces += *at == '{';
    if (braces > RUE_SHARD_BRACES_MAX) return refuse(&e, "has too many braces", error);
    return expand(&e, pattern, 0, error);
}

/* ---- splits ---- */

static const char train[] = "train", val[] = "val", test[] = "test";

static const struct {
    const char *word, *split;
} words[] = {{"train", train}, {"training", train}, {"val", val},   {"valid", val},   {"validation", val},
             {"dev", val},     {"eval", val},       {"test", test}, {"testing", test}};

static size_t count_letters(const char *text)
{
    size_t count = 0;
    while (isalpha((unsigned char)text[count])) count++;
    return count;
}

const char *rue_shard_split(const char *path)
{
    const char *slash = strrchr(path, '/');
    for (const char *at = slash ? slash + 1 : path; *at; at++) {
        size_t length = count_letters(at);
        for (size_t w = 0; length && w < sizeof words / sizeof *words; w++)
            if (strlen(words[w].word) == length && strncasecmp(at, words[w].word, length) == 0)
                return words[w].split;
        at += length ? length - 1 : 0;
    }
    return NULL;
}

/* ---- files ---- */

static rue_status add_shard(void *context, const char *path, rue_error *error)
{
    return rue_files_add(context, path, error);
}

/* Whoever names a folder of training and validation data means one of them. */
static rue_status refuse_splits(const struct rue_files *files, const char *folder, rue_error *error)
{
    const char *first = NULL;
    for (size_t i = 0; i < rue_files_count(files); i++) {
        const char *split = rue_shard_split(rue_files_path(files, i));
        if (split && first && split != first)
            return rue_fail(error, RUE_DATA,
                            "%s holds shards of %s and of %s, by their names: name those of one split, such "
                            "as '%s/train-{000000..000012}.tar'",
                            folder, first, split, folder);
        if (split) first = split;
    }
    return RUE_OK;
}

static rue_status add_folder(struct rue_files **files, const char *path, bool (*takes)(const char *name),
                             rue_error *error)
{
    DIR *folder = opendir(path);
    if (!folder) return rue_fail_open(error, path);
    rue_status status = RUE_OK;
    size_t length = strlen(path), others = 0;
    const char *slash = length && path[length - 1] == '/' ? "" : "/";
    char name[PATH_MAX];
    for (struct dirent *entry; status == RUE_OK && (entry = readdir(folder));) {
        bool hidden = entry->d_name[0] == '.';
        others += !hidden;
        if (hidden || !takes(entry->d_name)) continue;
        if ((size_t)snprintf(name, sizeof name, "%s%s%s", path, slash, entry->d_name) >= sizeof name)
            status = rue_fail(error, RUE_DATA, "the path %s/%s is too long", path, entry->d_name);
        else
            status = rue_files_add(files, name, error);
    }
    closedir(folder);
    if (status == RUE_OK && rue_files_count(*files) == 0)
        return rue_fail(error, RUE_DATA,
                        "%s holds no shard of this format among %zu: give a folder of shards", path, others);
    if (status != RUE_OK) return status;
    rue_files_sort(*files);
    return refuse_splits(*files, path, error);
}

bool rue_shards_is_pattern(const char *path)
{
    struct stat about;
    return strchr(path, '{') && lstat(path, &about) != 0;
}

rue_status rue_shards_add(const char *path, bool (*takes)(const char *name), struct rue_files **files,
                          rue_error *error)
{
    struct stat about;
    if (rue_shards_is_pattern(path)) return rue_shard_pattern_expand(path, add_shard, files, error);
    bool is_folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    return is_folder ? add_folder(files, path, takes, error) : rue_files_add(files, path, error);
}

/* ---- looking ---- */

static rue_status probe_folder(const struct rue_shard_format *format, const char *path, bool *is,
                               rue_error *error)
{
    DIR *folder = opendir(path);
    if (!folder)
        return rue_fail(error, rue_source_failure(errno), "cannot read %s: %s%s", path, strerror(errno),
                        rue_advice(errno));
    bool shards = false, others = false;
    for (struct dirent *entry; !others && (entry = readdir(folder));) {
        const char *name = entry->d_name;
        struct stat about;
        if (name[0] == '.') continue;
        shards |= format->takes(name);
        others = (format->avoids && format->avoids(name)) ||
                 (fstatat(dirfd(folder), name, &about, 0) == 0 && S_ISDIR(about.st_mode));
    }
    closedir(folder);
    *is = shards && !others;
    return RUE_OK;
}

rue_status rue_shards_probe(const struct rue_shard_format *format, const char *path, bool *is, bool *regular,
                            rue_error *error)
{
    struct stat about;
    bool named = format->takes(path), pattern = rue_shards_is_pattern(path);
    *regular = false;
    *is = pattern && named;
    if (pattern) return RUE_OK;
    if (stat(path, &about) != 0) return rue_fail_open(error, path);
    if (S_ISDIR(about.st_mode)) return probe_folder(format, path, is, error);
    *regular = S_ISREG(about.st_mode);
    *is = *regular && named;
    return RUE_OK;
}

/* ---- opening ---- */

/* Where compressed shards are read. */
struct cursor {
    pthread_mutex_t lock;              /* guards the others */
    struct rue_archive_reader *reader; /* NULL: none was read, or that failed */
    uint32_t file;                     /* of the reader */
};

/* Class names are lines of a file beside the first shard, where there is one; the first is class 0. An empty
 * line between others is a class without a name. */
static rue_status read_classes(struct rue_index *index, rue_error *error)
{
    const char *shard = rue_files_path(index->files, 0), *slash = strrchr(shard, '/');
    char path[PATH_MAX + sizeof RUE_CLASS_LIST_FILE];
    struct rue_files *files = NULL;
    snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - shard) : 0, shard, RUE_CLASS_LIST_FILE);
    struct stat about;
    if (stat(path, &about) != 0 && errno == ENOENT) return RUE_OK;
    rue_status status = rue_files_add(&files, path, error);
    if (status != RUE_OK) return status;
    uint64_t bytes = rue_files_identity(files, 0).bytes;
    char *text = bytes <= CLASS_TEXT_MAX ? malloc(bytes + 1) : NULL;
    if (bytes > CLASS_TEXT_MAX)
        status = rue_fail(error, RUE_DATA, "%s is longer than 64 MiB; give one class name a line", path);
    else
        status = text ? rue_files_read(files, 0, text, bytes, 0, error)
                      : rue_fail_memory(error, "class names", bytes);
    rue_files_close(files);
    if (status == RUE_OK && memchr(text, 0, bytes))
        status = rue_fail(error, RUE_DATA, "%s is no text; give one class name a line", path);
    if (status == RUE_OK) text[bytes] = 0;
    for (const char *line = text; status == RUE_OK && *line;) {
        size_t length = strcspn(line, "\n");
        bool returns = length && line[length - 1] == '\r';
        status = rue_index_add_class(index, line, length - returns, error);
        line += length + (line[length] == '\n');
    }
    free(text);
    return status;
}

static const char *or_nothing(const char *key)
{
    return key ? key : "";
}

/* The shards are read once, and in order. */
static rue_status open_cursor(struct rue_index *index, const struct rue_source_options *options,
                              rue_error *error)
{
    if (!options->in_order)
        return rue_fail(error, RUE_DATA,
                        "%s is compressed, so that its items cannot be read in any order: decompress it, or "
                        "convert it with 'rue prepare'",
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
    char asked[512];
    snprintf(asked, sizeof asked, "%s image %.200s label %.200s", format->version,
             or_nothing(options->image_key), or_nothing(options->label_key));
    rue_status status = rue_shards_add(path, format->takes, &index->files, error);
    if (status == RUE_OK && !rue_index_file_load(index, path, asked)) {
        status = format->index(path, options, index, error);
        if (status == RUE_OK && !options->writes_nothing) rue_index_file_keep(index, path, asked);
    }
    if (status == RUE_OK && index->streams) status = open_cursor(index, options, error);
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

/* Opens the shard, unless it is open and has not come to the item. */
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
    uint64_t some = 0, wanted = 0;
    while (status == RUE_OK && some == wanted &&
           rue_archive_reader_position(cursor->reader) < entry->offset) {
        uint64_t ahead = entry->offset - rue_archive_reader_position(cursor->reader);
        wanted = ahead < sizeof passed ? ahead : sizeof passed;
        status = rue_archive_reader_read(cursor->reader, passed, wanted, &some, error);
    }
    if (status == RUE_OK) status = rue_archive_reader_read(cursor->reader, into, entry->bytes, &some, error);
    if (status != RUE_OK || some == entry->bytes) return status;
    return rue_fail(error, RUE_DATA, "%s became shorter: leave the data alone while rue runs",
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
