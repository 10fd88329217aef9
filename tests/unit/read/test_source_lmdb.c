#include <criterion/criterion.h>
#include <sys/resource.h>

#include "item_file.h"
#include "lmdb_fixture.h"

TestSuite(source_lmdb, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

static const char jpeg[] =
    "\xff\xd8 some bytes that are no image, but as many as a small image has, which are more "
    "than labels have";

#define JPEG jpeg, sizeof jpeg - 1
#define END           \
    {                 \
        NULL, NULL, 0 \
    }

static const char *refuse(const char *name)
{
    static rue_error error;
    struct rue_source *source;
    const struct rue_source_options options = {.format = "lmdb"};
    error = (rue_error){0};
    cr_assert_eq(rue_source_open(temporary_path(name), &options, &source, &error), RUE_DATA, "%s opens",
                 name);
    cr_assert(strstr(error.message, temporary_path(name)), "%s", error.message);
    return error.message;
}

static void expect(const char *name, const char *words)
{
    const char *message = refuse(name);
    cr_assert(strstr(message, words), "'%s' lacks '%s'", message, words);
}

Test(source_lmdb, a_written_file_is_read_with_names_labels_and_classes)
{
    enum { COUNT = 300 };
    lmdb_make("set", COUNT);
    struct rue_source *source = data_open("set");
    cr_assert_str_eq(rue_source_variant(source).format, "lmdb");
    cr_assert_eq(rue_source_variant(source).mode, RUE_RAW);
    cr_assert_eq(rue_source_count(source), COUNT);
    cr_assert_eq(rue_source_class_count(source), 3);
    cr_assert_str_eq(rue_source_class_name(source, 2), "cow");
    for (unsigned i = 0; i < COUNT; i++) {
        const struct rue_item item = lmdb_item(i);
        char key[64], name[PATH_MAX];
        int32_t label;
        cr_assert(lmdb_holds(source, i, &item, NULL), "item %u", i);
        rue_source_key(source, i, key, sizeof key);
        cr_assert_str_eq(key, item.key);
        rue_source_name(source, i, name, sizeof name);
        snprintf(key, sizeof key, "set/data.mdb key %s", item.key);
        cr_assert(strstr(name, key), "%s", name);
        label = rue_source_label(source, i);
        cr_assert_eq(label, item.label);
    }
    rue_source_close(source);
}

Test(source_lmdb, tensors_are_read_and_viewed_in_place)
{
    enum { COUNT = 5, SIDE = 40 };
    static float values[3 * SIDE * SIDE];
    const struct rue_sink_options options = {
        .mode = RUE_PREPROCESSED, .dtype = RUE_FLOAT32, .shape = {3, SIDE, SIDE}, .count = COUNT};
    struct rue_sink *sink;
    cr_assert_eq(rue_sink_open(rue_sink_find("lmdb"), temporary_path("set"), &options, &sink, NULL), RUE_OK);
    for (int i = 0; i < COUNT; i++) {
        for (int v = 0; v < 3 * SIDE * SIDE; v++) values[v] = (float)(i * 10000 + v);
        const struct rue_item item = {(const char *[]){"a", "b", "c", "d.npy", "e"}[i], i, values,
                                      sizeof values};
        cr_assert_eq(rue_sink_add(sink, &item, NULL), RUE_OK);
    }
    cr_assert_eq(rue_sink_finish(sink, NULL), RUE_OK);
    rue_sink_close(sink);
    struct rue_source *source = data_open("set");
    uint32_t shape[3];
    cr_assert_str_eq(rue_source_variant(source).dtype, "float32");
    cr_assert(rue_source_shape(source, shape) && shape[0] == 3 && shape[1] == SIDE && shape[2] == SIDE);
    for (int i = 0; i < COUNT; i++) {
        struct rue_place place;
        const void *view;
        cr_assert_eq(rue_source_read(source, (uint64_t)i, values, NULL), RUE_OK);
        cr_assert(values[0] == (float)(i * 10000) && values[7] == (float)(i * 10000 + 7));
        cr_assert(rue_source_place(source, RUE_ACCESS_READ, (uint64_t)i, &place));
        cr_assert(place.bytes == sizeof values && pread(place.fd, values, 4, (off_t)place.offset) == 4);
        cr_assert(values[0] == (float)(i * 10000));
        if (!rue_source_allows(source, RUE_ACCESS_VIEW)) continue;
        cr_assert_eq(rue_source_view(source, (uint64_t)i, &view, NULL), RUE_OK);
        cr_assert(((const float *)view)[7] == (float)(i * 10000 + 7) && (uintptr_t)view % 16 == 0);
    }
    cr_assert_not(rue_source_allows(source, RUE_ACCESS_DIRECT));
    rue_source_close(source);
}

Test(source_lmdb, jpeg_files_of_others_are_read_with_any_keys)
{
    char key[200], read[200];
    lmdb_put("set", NULL, 0,
             (struct lmdb_entry[]){{"__keys__", JPEG},
                                   {"cat/1.jpg", JPEG},
                                   {"d\xc3\xa4r/1.jpg", JPEG},
                                   {"image-000000001", JPEG},
                                   {"label-000000001", "3", 0},
                                   {"\x01\x02", JPEG},
                                   END});
    struct rue_source *source = data_open("set");
    static const char *const keys[] = {"00000000", "cat/1.jpg", "d\xc3\xa4r/1.jpg", "image-000000001"};
    cr_assert_eq(rue_source_count(source), 4);
    for (uint64_t i = 0; i < 4; i++) {
        rue_source_key(source, i, key, sizeof key);
        cr_assert_str_eq(key, keys[i]);
        cr_assert(rue_source_read(source, i, read, NULL) == RUE_OK &&
                  memcmp(read, jpeg, sizeof jpeg - 1) == 0 && rue_source_label(source, i) == 0);
    }
    cr_assert_eq(rue_source_skipped(source), 2);
    rue_source_note(source, key, sizeof key);
    cr_assert_str_eq(key,
                     "files skipped: 2, such as the key '__keys__'; no labels found: 2 of 4 keys begin with "
                     "a class folder");
    rue_source_close(source);
}

/* Keys come as "a-b/1", "a/1", but classes as a folder of them has: "a", "a-b". */
Test(source_lmdb, classes_are_numbered_as_in_folders)
{
    char far[400];
    snprintf(far, sizeof far, "%0300d/1", 0);
    lmdb_put("set", NULL, 0,
             (struct lmdb_entry[]){
                 {far, JPEG}, {"a-b/1", JPEG}, {"a/1", JPEG}, {"a/2", JPEG}, {"b/1", JPEG}, END});
    struct rue_source *source = data_open("set");
    static const int labels[] = {0, 2, 1, 1, 3};
    far[300] = 0;
    cr_assert_eq(rue_source_class_count(source), 4);
    cr_assert_str_eq(rue_source_class_name(source, 0), far);
    cr_assert_str_eq(rue_source_class_name(source, 1), "a");
    cr_assert_str_eq(rue_source_class_name(source, 2), "a-b");
    for (uint64_t i = 0; i < 5; i++) cr_assert_eq(rue_source_label(source, i), labels[i], "item %d", (int)i);
    rue_source_close(source);
}

static void expect_note(const struct rue_source *source, const char *words)
{
    char note[1000];
    rue_source_note(source, note, sizeof note);
    cr_assert(strstr(note, words), "'%s' lacks '%s'", note, words);
}

Test(source_lmdb, keys_without_a_folder_are_named_and_the_classes_stay)
{
    lmdb_put("set", NULL, 0,
             (struct lmdb_entry[]){
                 {"0", JPEG}, {"./cat/1", JPEG}, {"./dog/1", JPEG}, {"./dog/2", JPEG}, {"/x", JPEG}, END});
    struct rue_source *source = data_open("set");
    cr_assert(rue_source_count(source) == 3 && rue_source_skipped(source) == 2);
    for (uint64_t i = 0; i < 3; i++) cr_assert_eq(rue_source_label(source, i), i > 0);
    expect_note(source, "files skipped: 2, such as x, which is not in a class folder");
    rue_source_close(source);
    lmdb_put("flat", NULL, 0, (struct lmdb_entry[]){{"1", JPEG}, {"2", JPEG}, {"meta/x", JPEG}, END});
    source = data_open("flat");
    cr_assert_eq(rue_source_count(source), 3);
    expect_note(source, "no labels found: 1 of 3 keys begin with a class folder");
    rue_source_close(source);
}

/* A value of `count` bytes after a header; returns its size. */
static size_t make_npy(char *out, const char *dictionary, size_t count)
{
    size_t length = strlen(dictionary);
    memcpy(out, "\x93NUMPY\1", 8);
    out[8] = (char)length;
    out[9] = 0;
    memcpy(out + 10, dictionary, length);
    for (size_t i = 0; i < count; i++) out[10 + length + i] = (char)i;
    return 10 + length + count;
}

#define FIRST "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 40, 40)}"

/* Values of many bytes lie in pages of their own, others in the page of their key. */
Test(source_lmdb, each_npy_value_has_the_type_and_shape_of_the_first)
{
    enum { COUNT = 3 * 40 * 40 };
    static const char *const others[][2] = {
        {"{'descr': '|u1', 'fortran_order': True, 'shape': (3, 40, 40) }", "Fortran"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (40, 3, 40)}", "type and shape"},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (3, 40, 20)}", "type and shape"},
        {"{'descr': '>f2', 'fortran_order': False, 'shape': (3, 40, 20)}", "not float32"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 41, 40)}", "the bytes that its shape needs"},
        {"{'descr': '|u1', 'shape': (3, 40, 40)}", "damaged header"}};
    static char one[COUNT + 300], two[COUNT + 300];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char name[16];
        size_t one_bytes = make_npy(one, FIRST, COUNT), two_bytes = make_npy(two, others[i][0], COUNT);
        snprintf(name, sizeof name, "set%zu", i);
        lmdb_put(name, NULL, 0, (struct lmdb_entry[]){{"a", one, one_bytes}, {"b", two, two_bytes}, END});
        expect(name, "the value of key b ");
        expect(name, others[i][1]);
    }
}

Test(source_lmdb, npy_values_may_have_headers_of_several_forms)
{
    enum { COUNT = 3 * 40 * 40 };
    static char values[2][COUNT + 300], read[COUNT];
    size_t one = make_npy(values[0], FIRST, COUNT),
           two = make_npy(values[1], "{'shape': (1,3,40,40), 'descr': 'u1', 'fortran_order': False}      ",
                          COUNT);
    lmdb_put("set", NULL, 0,
             (struct lmdb_entry[]){
                 {"a", values[0], one},
                 {"b", values[1], two},
                 {"meta", JPEG},
                 {"note", "more than sixty-five bytes of text that are neither JPEG nor npy file", 0},
                 END});
    struct rue_source *source = data_open("set");
    uint32_t shape[3];
    cr_assert(rue_source_count(source) == 2 && rue_source_skipped(source) == 2);
    cr_assert(rue_source_shape(source, shape) && shape[0] == 3 && shape[1] == 40 && shape[2] == 40);
    expect_note(source, "such as the key 'meta', a JPEG file");
    for (uint64_t i = 0; i < 2; i++) {
        cr_assert(rue_source_bytes(source, i) == COUNT && rue_source_read(source, i, read, NULL) == RUE_OK);
        for (size_t b = 0; b < COUNT; b++) cr_assert_eq(read[b], (char)b);
    }
    rue_source_close(source);
}

Test(source_lmdb, an_lmdb_without_images_is_refused)
{
    static const char tiff[] =
        "II*\0 and so many more bytes that it is taken for an image, which has at least 65";
    temporary_text("text", "no LMDB at all, but long enough for a meta page of an LMDB, which has 152 bytes: "
                           "........................................................................");
    expect("text", "is not an LMDB");
    temporary_text("empty.mdb", "");
    expect("empty.mdb", "is not an LMDB");
    lmdb_put("void", NULL, 0, (struct lmdb_entry[]){END});
    expect("void", "holds no images");
    lmdb_put("named", "train", 0, (struct lmdb_entry[]){{"0", JPEG}, END});
    expect("named", "the named database 'train'");
    lmdb_put("labels", NULL, 0, (struct lmdb_entry[]){{"meta\x01", "3", 0}, END});
    expect("labels", "holds no images, but the key 'meta?'");
    lmdb_put("many", NULL, MDB_DUPSORT, (struct lmdb_entry[]){{"0", "a", 0}, {"0", "b", 0}, END});
    expect("many", "several values");
    lmdb_put("integers", NULL, MDB_INTEGERKEY, (struct lmdb_entry[]){{"abcd", JPEG}, END});
    expect("integers", "keys are integers or reversed");
    lmdb_put("pictures", NULL, 0, (struct lmdb_entry[]){{"0", tiff, sizeof tiff - 1}, END});
    expect("pictures", "holds no images, but the key '0', a TIFF file");
    cr_assert_eq(mkdir(temporary_path("folder"), 0777), 0);
    expect("folder", "No such file");
    cr_assert_eq(mkfifo(temporary_path("fifo"), 0666), 0);
    expect("fifo", "not a regular file");
}

Test(source_lmdb, missing_descriptors_are_not_blamed_on_the_file)
{
    struct rlimit limit;
    struct rue_source *source;
    const struct rue_source_options options = {.format = "lmdb"};
    rue_error error = {0};
    lmdb_make("set", 1);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, limit.rlim_max}), 0);
    rue_status status = rue_source_open(temporary_path("set"), &options, &source, &error);
    setrlimit(RLIMIT_NOFILE, &limit);
    cr_assert_eq(status, RUE_INFEASIBLE, "%s", error.message);
    cr_assert(strstr(error.message, "Too many open files"), "%s", error.message);
}

/* Opens the set and reads and checks all of it; the message of the first failure. */
static bool reads_well(const char *name, unsigned count, rue_error *error)
{
    struct rue_source *source;
    const struct rue_source_options options = {.format = "lmdb"};
    if (rue_source_open(temporary_path(name), &options, &source, error) != RUE_OK) return false;
    bool good = rue_source_count(source) == count;
    for (unsigned i = 0; good && i < count; i++) {
        const struct rue_item item = lmdb_item(i);
        char key[64];
        good = lmdb_holds(source, i, &item, error) && rue_source_label(source, i) == item.label;
        rue_source_key(source, i, key, sizeof key);
        good = good && strcmp(key, item.key) == 0;
    }
    rue_source_close(source);
    return good;
}

/* Whatever one page holds, that of another time, zeros or noise: it is noticed where it is not one of values,
 * of which LMDB keeps no checksums. */
Test(source_lmdb, a_torn_page_is_an_error_or_changes_values)
{
    enum { COUNT = 400, PAGE = 4096 };
    size_t bytes;
    unsigned noticed = 0;
    lmdb_make("set", COUNT);
    unsigned char *whole = temporary_read("set/data.mdb", &bytes), *torn = malloc(bytes);
    cr_assert(reads_well("set", COUNT, NULL) && bytes % PAGE == 0);
    for (size_t page = 0; page < bytes / PAGE; page += page < 40 ? 1 : 7)
        for (int how = 0; how < 3; how++) {
            rue_error error = {0};
            memcpy(torn, whole, bytes);
            for (size_t b = how == 2 ? PAGE / 2 : 0; b < PAGE; b++)
                torn[page * PAGE + b] = how == 0   ? 0
                                        : how == 1 ? (unsigned char)(b * 167 + page)
                                                   : whole[(page + 3) * PAGE % bytes + b];
            temporary_file("torn/data.mdb", torn, bytes);
            if (reads_well("torn", COUNT, &error) || !error.message[0]) continue;
            noticed++;
            cr_assert(strstr(error.message, "torn/data.mdb"), "page %zu: '%s'", page, error.message);
        }
    cr_assert_gt(noticed, 10);
    free(whole);
    free(torn);
}

/* The last page is the list of the free ones, which readers do not need. */
Test(source_lmdb, a_file_truncated_anywhere_is_refused)
{
    enum { COUNT = 60, PAGE = 4096 };
    size_t bytes;
    lmdb_make("set", COUNT);
    unsigned char *whole = temporary_read("set/data.mdb", &bytes);
    for (size_t length = 0; length + PAGE < bytes; length += length < 2 * PAGE ? 512 : PAGE) {
        rue_error error = {0};
        temporary_file("cut.mdb", whole, length);
        cr_assert_not(reads_well("cut.mdb", COUNT, &error), "%zu bytes", length);
        cr_assert(strstr(error.message, length < 2 * PAGE ? "cut.mdb" : "is truncated: it ends at byte"),
                  "%s", error.message);
    }
    free(whole);
}

/* Where liblmdb's meta page has what, behind the header of the page. */
enum {
    PAGE_BYTES_AT = 16 + 24,
    DEPTH_AT = 16 + 72 + 6,
    ENTRIES_AT = 16 + 72 + 32,
    ROOT_AT = 16 + 72 + 40,
    LAST_AT = 16 + 120
};

Test(source_lmdb, a_wrong_meta_page_is_refused)
{
    static const struct {
        size_t at, bytes;
        uint64_t value;
    } lies[] = {{PAGE_BYTES_AT, 4, 0},
                {PAGE_BYTES_AT, 4, 3000},
                {PAGE_BYTES_AT, 4, 1 << 20},
                {PAGE_BYTES_AT, 4, 1 << 31},
                {DEPTH_AT, 2, 0},
                {DEPTH_AT, 2, 1},
                {DEPTH_AT, 2, 5},
                {DEPTH_AT, 2, 60000},
                {ENTRIES_AT, 8, 3},
                {ENTRIES_AT, 8, UINT64_MAX},
                {ROOT_AT, 8, 0},
                {ROOT_AT, 8, 1},
                {ROOT_AT, 8, 1 << 30},
                {ROOT_AT, 8, UINT64_MAX - 1},
                {LAST_AT, 8, 1},
                {LAST_AT, 8, UINT64_MAX},
                {LAST_AT, 8, UINT64_MAX / 4096},
                {16 + 4, 4, 2}};
    enum { COUNT = 400 };
    size_t bytes;
    lmdb_make("set", COUNT);
    unsigned char *whole = temporary_read("set/data.mdb", &bytes);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        rue_error error = {0};
        unsigned char *lying = malloc(bytes);
        memcpy(lying, whole, bytes);
        for (size_t meta = 0; meta <= 4096; meta += 4096)
            memcpy(lying + meta + lies[i].at, &lies[i].value, lies[i].bytes);
        temporary_file("lying.mdb", lying, bytes);
        cr_assert_not(reads_well("lying.mdb", COUNT, &error), "lie %zu", i);
        cr_assert(strstr(error.message, "lying.mdb"), "lie %zu: %s", i, error.message);
        free(lying);
    }
    free(whole);
}

Test(source_lmdb, the_digest_is_that_of_keys_sizes_and_labels)
{
    lmdb_make("one", 10);
    lmdb_make("same", 10);
    lmdb_make("more", 11);
    lmdb_put("bare", NULL, 0, (struct lmdb_entry[]){{"0", JPEG}, END});
    lmdb_put("other", NULL, 0, (struct lmdb_entry[]){{"1", JPEG}, END});
    static const char *const names[] = {"one", "same", "more", "bare", "other"};
    uint64_t digests[5];
    for (int i = 0; i < 5; i++) {
        struct rue_source *source = data_open(names[i]);
        digests[i] = rue_source_digest(source);
        rue_source_close(source);
    }
    cr_assert_eq(digests[0], digests[1]);
    cr_assert_neq(digests[0], digests[2]);
    cr_assert_neq(digests[3], digests[4]);
}
