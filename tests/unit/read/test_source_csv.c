#include <criterion/criterion.h>

#include "data_fixture.h"

TestSuite(source_csv, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

/* Files that lists name: a.jpg of 1 byte, b.jpg of 2, sub/c.jpg of 3. */
static void make_files(void)
{
    temporary_text("a.jpg", "1");
    temporary_text("b.jpg", "12");
    temporary_text("sub/c.jpg", "123");
}

static struct rue_source *open_text(const char *text, struct rue_source_options options, rue_error *error)
{
    struct rue_source *source = NULL;
    make_files();
    temporary_text("list.csv", text);
    options.format = "csv";
    rue_status status = rue_source_open(temporary_path("list.csv"), &options, &source, error);
    cr_assert(status == RUE_OK || (status == RUE_DATA && !source), "%d", (int)status);
    return status == RUE_OK ? source : NULL;
}

/* All items as "bytes:label " and all classes. */
static void expect_with(const char *text, struct rue_source_options options, const char *wanted)
{
    char got[512] = "";
    size_t used = 0;
    rue_error error = {0};
    struct rue_source *source = open_text(text, options, &error);
    cr_assert(source, "%s", error.message);
    for (uint64_t i = 0; i < rue_source_count(source); i++) {
        int32_t label = rue_source_label(source, i);
        used += (size_t)snprintf(got + used, sizeof got - used, "%d:%d ", (int)rue_source_bytes(source, i),
                                 label);
    }
    for (size_t c = 0; c < rue_source_class_count(source); c++)
        used += (size_t)snprintf(got + used, sizeof got - used, "%s ", rue_source_class_name(source, c));
    cr_assert_str_eq(got, wanted, "'%s' gives '%s'", text, got);
    rue_source_close(source);
}

static void expect(const char *text, const char *wanted)
{
    expect_with(text, (struct rue_source_options){0}, wanted);
}

static void expect_note(const char *text, const char *wanted, const char *note)
{
    char got[RUE_NOTE_BYTES];
    expect(text, wanted);
    struct rue_source *source = open_text(text, (struct rue_source_options){0}, NULL);
    rue_source_note(source, got, sizeof got);
    cr_assert_str_eq(got, note);
    rue_source_close(source);
}

static void refuse_with(const char *text, struct rue_source_options options, const char *words)
{
    rue_error error = {0};
    cr_assert_null(open_text(text, options, &error), "'%.99s' opens", text);
    cr_assert(strstr(error.message, words) && strstr(error.message, "list.csv"), "'%.99s': '%s' lacks '%s'",
              text, error.message, words);
}

static void refuse(const char *text, const char *words)
{
    refuse_with(text, (struct rue_source_options){0}, words);
}

Test(source_csv, paths_and_labels_are_found_by_their_usual_names)
{
    expect("path,label\na.jpg,3\nsub/c.jpg,1\n", "1:3 3:1 ");
    expect("id,Filename,x,TARGET\n7,b.jpg,y,4\n", "2:4 ");
    expect("filepath\na.jpg\nb.jpg\na.jpg\n", "1:0 2:0 1:0 ");
    expect("image_path,category\na.jpg,dog\nb.jpg,cat\nsub/c.jpg,dog\n", "1:1 2:0 3:1 cat dog ");
}

Test(source_csv, columns_can_be_named)
{
    expect_with("path,x,label,y\nb.jpg,a.jpg,0,5\n",
                (struct rue_source_options){.image_key = "x", .label_key = "y"}, "1:5 ");
    refuse_with("path,label\na.jpg,1\n", (struct rue_source_options){.image_key = "img"},
                "there is no column 'img': name one with image_key; the columns are path, label");
    refuse_with("path,label\na.jpg,1\n", (struct rue_source_options){.label_key = "y"},
                "there is no column 'y'");
}

Test(source_csv, the_more_usual_of_several_columns_is_used)
{
    expect("image,path,target,label\nb.jpg,a.jpg,1,2\n", "1:2 ");
    expect("path,label,label,class\na.jpg,1,2,cow\n", "1:1 ");
    refuse("name,kind\na.jpg,1\n",
           "no column has the name of a path column: name one with image_key; the columns are name, kind");
}

Test(source_csv, labels_are_numbers_or_the_names_of_classes)
{
    expect("path,class\na.jpg,cow\nb.jpg,10\nsub/c.jpg,cow\n", "1:1 2:0 3:1 10 cow ");
    expect_note("path,label\na.jpg,n01440764\nb.jpg,20-29\n", "1:1 2:0 20-29 n01440764 ", "");
    expect_note("path,label\na.jpg,True\nb.jpg,False\n", "1:1 2:0 False True ", "");
    refuse(
        "path,label\na.jpg,1\nb.jpg,x\nsub/c.jpg,2\n",
        "line 3: labels are numbers, but 'x' is not a whole number below 2^31: correct it, or name another "
        "column with label_key");
}

Test(source_csv, whole_numbers_have_any_decimal_form)
{
    static const char *const forms[] = {"2",       "+2",    "2.0",    "2.",    "2e0", "20e-1",
                                        "\" 2 \"", "0.2E1", "+2.000", "\"2\"", "2,"};
    char text[64];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        snprintf(text, sizeof text, "path,label\na.jpg,%s\nb.jpg,10.0\nsub/c.jpg,1.0\n", forms[i]);
        expect_note(text, "1:2 2:10 3:1 ", "");
    }
    expect("path,label\na.jpg,-2147483648\nb.jpg,2147483647.0\nsub/c.jpg,-0.0\n",
           "1:-2147483648 2:2147483647 3:0 ");
}

Test(source_csv, labels_below_zero_are_reported_and_none_if_all_are_minus_one)
{
    char note[PATH_MAX + 100];
    expect_note("path,label\na.jpg,-1\nb.jpg,-1.0\n", "1:0 2:0 ",
                "no labels found: all are -1, so 0 is used");
    snprintf(note, sizeof note, "2 of 3 labels are below 0, such as that of %s", temporary_path("b.jpg"));
    expect_note("path,label\na.jpg,0\nb.jpg,-1\nsub/c.jpg,-1\n", "1:0 2:-1 3:-1 ", note);
    snprintf(note, sizeof note, "1 of 1 labels are below 0, such as that of %s", temporary_path("a.jpg"));
    expect_note("path,label\na.jpg,-2\n", "1:-2 ", note);
}

Test(source_csv, other_numbers_never_become_names)
{
    static const char *const forms[] = {"1.5",         "nan",  "NaN",         "inf",    "3000000000",
                                        "-2147483649", "1e30", "0x10",        "1e-3",   "\"1,000\"",
                                        "\"1,2\"",     "1;2",  "99999999999", "\"1 2\""};
    char text[96];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        snprintf(text, sizeof text, "path,label\na.jpg,1\nb.jpg,%s\nsub/c.jpg,2\n", forms[i]);
        refuse(text, "line 3: labels are numbers, but '");
        snprintf(text, sizeof text, "path,label\na.jpg,%s\nb.jpg,%s\nsub/c.jpg,x\n", forms[i], forms[i]);
        refuse(text, "line 2: labels are numbers, but '");
    }
}

Test(source_csv, a_missing_label_among_numbers_is_an_error)
{
    refuse("path,label\na.jpg,1\nb.jpg,None\nsub/c.jpg,null\n",
           "line 3: labels are numbers, but 'None' is not a whole number");
    expect_note("path,label\na.jpg,None\nb.jpg,None\nsub/c.jpg,crack\n", "1:0 2:0 3:1 None crack ", "");
    expect_note("path,label\na.jpg,NA\nb.jpg,NA\n", "1:0 2:0 NA ", "");
}

Test(source_csv, labels_that_may_be_meant_otherwise_are_named)
{
    expect_note("path,label\na.jpg,cow\nb.jpg,10\nsub/c.jpg,cow\n", "1:1 2:0 3:1 10 cow ",
                "labels are names of classes, also '10' in line 3");
    expect_note("path,label\na.jpg,cow\nb.jpg,nan\nsub/c.jpg,ant\n", "1:1 2:2 3:0 ant cow nan ",
                "labels are names of classes, also 'nan' in line 3");
    expect_note("path,label\na.jpg,7\nb.jpg,007\nsub/c.jpg,00\n", "1:7 2:7 3:0 ",
                "labels are numbers, so '007' in line 3 is without its zeros");
    expect_note("path,labels\na.jpg,7\n", "1:0 ",
                "no labels found: name their column with label_key; the columns are path, labels");
    expect_note("path\na.jpg\n", "1:0 ", "");
}

Test(source_csv, lists_of_other_kinds_are_refused_with_the_cure)
{
    static const char *const lists[][2] = {
        {"path;label\na.jpg;1\n", "line 1: fields are separated by ';': separate them by ','"},
        {"sep=;\npath;label\na.jpg;1\n", "line 1: expected a header line, found 'sep=;': remove this line"},
        {"SEP=,\r\npath,label\r\na.jpg,1\r\n", "line 1: expected a header line, found 'SEP=': remove this"},
        {"# by me\npath,label\na.jpg,1\n", "found '# by me': remove this line, or its '#'"},
        {"path,label\n# by me\na.jpg,1\n", "line 2: expected an image, found '# by me': remove this line"},
        {"path,label\n# me, too\na.jpg,1\n", "line 2: # me: No such file or directory; remove this line"},
        {"path,label\na.jpg,1\nPath,Label\nb.jpg,1\n", "line 3: Path: No such file or directory; remove the "
                                                       "second header line"},
        {"path\na.jpg\npath\nb.jpg\n", "line 3: path: No such file or directory; remove the second header"},
        {"path,label\na.jpg,1\n\xEF\xBB\xBF"
         "b.jpg,1\n",
         "line 3: \xEF\xBB\xBF"
         "b.jpg: No such file or "
         "directory; remove the byte order mark before it"},
        {"path,label\nk\xE4se.jpg,1\n", "it is not UTF-8: save the list as UTF-8"},
        {"path,label\na,1\n", "line 2: a: No such file or directory, but a.jpg exists: write the whole name"},
        {"path,label\nsub/c,1\n", "but sub/c.jpg exists: write the whole name"},
        {"path\tlabel\na.jpg\t1\n", "line 1: fields are separated by tabs"},
        {"path|label\r\na.jpg|1\r\n", "line 1: fields are separated by '|'"},
        {"path,label\na.jpg;1\n", "line 2: fields are separated by ';'"},
        {"a.jpg,1\nb.jpg,2\n", "line 1: expected a header line, found an image: begin with a line such as"},
        {"path,label\nsub\\c.jpg,1\n",
         "line 2: sub\\c.jpg: No such file or directory; write '/' instead of '\\'"},
        {"path,label\nC:\\data\\c.jpg,1\n", "give a path of this machine, without a drive"},
        {"path,label\nfile:///a.jpg,1\n", "give the path of a file instead of a URL"},
        {"path,label\ns3://bucket/a.jpg,1\n", "give the path of a file instead of a URL"},
        {"path,label\n~/a.jpg,1\n", "write the whole path instead of '~'"},
        {"path,label\n'a.jpg',1\n", "quote with \" instead of '"},
        {"path,label\n\"a.jpg \",1\n", "remove the blanks around the path"},
        {"path,label\nlists/a.jpg,1\n", "relative paths start at the folder of the list"},
        {"path,label\n/no/a.jpg,1\n", "correct the path, or remove the line"},
        {"path,label\na.jpg/b.jpg,1\n", "Not a directory; relative paths"},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) refuse(lists[i][0], lists[i][1]);
    expect(",path,label\n0,a.jpg,1\n1,b.jpg,2\n", "1:1 2:2 ");
    expect("path,label\ra.jpg,1\rb.jpg,2\r", "1:1 2:2 ");
}

Test(source_csv, other_lists_are_refused_with_the_name_that_a_list_needs)
{
    static const char *const names[] = {"l.tsv", "l.txt", "l.csv.gz", "l.parquet", "csv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rue_error error = {0};
        struct rue_source *source;
        temporary_text(names[i], "path,label\na.jpg,1\n");
        cr_assert_eq(rue_source_open(temporary_path(names[i]), NULL, &source, &error), RUE_DATA);
        cr_assert(strstr(error.message, "a CSV file that is not compressed and named .csv"), "%s",
                  error.message);
    }
}

Test(source_csv, a_name_may_begin_as_a_comment_or_end_as_other_text)
{
    temporary_text("#1.jpg", "1234");
    temporary_text("k\xE4se.jpg", "12345");
    temporary_text("path", "123456");
    expect("path,label\n#1.jpg,1\nk\xE4se.jpg,2\npath,3\n", "4:1 5:2 6:3 ");
}

Test(source_csv, text_of_common_programs_is_read)
{
    expect("\xEF\xBB\xBFpath,label\r\na.jpg,1\r\n\r\n\"sub/c.jpg\",2", "1:1 3:2 ");
    expect("path,label,,\na.jpg,1,,\nb.jpg,1,,,,\n", "1:1 2:1 ");
    temporary_text("a, \"b\"\n.jpg", "12345");
    expect("path,label\n\"a, \"\"b\"\"\n.jpg\",4\n", "5:4 ");
}

Test(source_csv, blanks_are_kept_only_in_quotes)
{
    temporary_text(" d .jpg ", "1234");
    expect(" path , label\n\" d .jpg \", 3 \n a.jpg ,\t10\n", "4:3 1:10 ");
    expect("path,label\na.jpg,\" dog\"\nb.jpg, dog\n", "1:0 2:1  dog dog ");
    expect("path,label\n \n \t, \na.jpg,1, ,\n", "1:1 ");
    refuse("path,label\na.jpg, \n", "line 2: the label is empty");
}

Test(source_csv, errors_name_the_line)
{
    refuse("a,b\nx,y\n", "list.csv, line 1: no column has the name of a path column");
    refuse("path,label\na.jpg,1\n\"b.jpg,2\n", "line 3: the quote that opens here has no end");
    temporary_text("b.jpg\n", "1");
    refuse("path,label\na.jpg,1\n\"b.jpg\n\",1\nsub/c.jpg\n",
           "line 5: 1 fields, but the header has 2 columns");
    refuse("path,label\na.jpg,1,2\n", "line 2: 3 fields");
    refuse("path,label\n,1\n", "line 2: the path is empty");
    refuse("path,label\na.jpg,\n", "line 2: the label is empty");
    refuse("path,label\na.jpg,1\nsub,2\n", "line 3: expected a file, found a folder: sub");
    refuse("path\na.jpg\nx.jpg\nb.jpg\ny.jpg\n", "line 3: x.jpg: No such file or directory");
    refuse("path,label\n", "has only a header line");
    refuse("", "is empty");
    cr_assert_eq(mkfifo(temporary_path("fifo.jpg"), 0666), 0);
    refuse("path\nfifo.jpg\n", "line 2: not a regular file: fifo.jpg");
}

Test(source_csv, a_byte_that_is_not_text_names_the_line)
{
    rue_error error = {0};
    struct rue_source *source;
    temporary_file("list.csv", "path\na\0.jpg\n", 12);
    cr_assert_eq(rue_source_open(temporary_path("list.csv"), NULL, &source, &error), RUE_DATA);
    cr_assert(strstr(error.message, "list.csv, line 2: a NUL byte"), "%s", error.message);
}

Test(source_csv, a_field_without_an_end_is_refused)
{
    enum { BYTES = 3 << 20 };
    char *text = malloc(BYTES + 1);
    for (int quoted = 0; quoted < 2; quoted++) {
        size_t begun = (size_t)snprintf(text, BYTES, "path\na.jpg\n%s", quoted ? "\"" : "");
        memset(text + begun, 'x', BYTES - begun);
        text[BYTES] = 0;
        refuse(text, quoted ? "line 3: the quote that opens here has no end" : "File name too long");
    }
    free(text);
}

Test(source_csv, paths_are_below_the_folder_of_the_list_or_absolute)
{
    char text[1024], name[PATH_MAX], read[4];
    make_files();
    snprintf(text, sizeof text, "path\n%s\n./sub/../b.jpg\nsub//c.jpg\n", temporary_path("a.jpg"));
    struct rue_source *source = open_text(text, (struct rue_source_options){0}, NULL);
    static const char *const keys[] = {"a.jpg", "b.jpg", "sub/c.jpg"};
    for (uint64_t i = 0; i < 3; i++) {
        rue_source_key(source, i, name, sizeof name);
        cr_assert(strlen(name) >= strlen(keys[i]) && !strstr(name, "..") && name[0] != '/' &&
                      strcmp(name + strlen(name) - strlen(keys[i]), keys[i]) == 0,
                  "%s", name);
        cr_assert_eq(rue_source_read(source, i, read, NULL), RUE_OK);
        cr_assert_eq(memcmp(read, "123", i + 1), 0);
    }
    rue_source_name(source, 0, name, sizeof name);
    cr_assert_str_eq(name, temporary_path("a.jpg"));
    temporary_text("a.jpg", "another size");
    rue_error error = {0};
    cr_assert_eq(rue_source_read(source, 0, read, &error), RUE_DATA);
    cr_assert(strstr(error.message, "a.jpg changed since"), "%s", error.message);
    rue_source_close(source);
}

static bool is_csv(const char *name)
{
    struct rue_variant variant = {0};
    return rue_source_detect(temporary_path(name), NULL, &variant, NULL) == RUE_OK &&
           strcmp(variant.format, "csv") == 0;
}

Test(source_csv, is_recognised_by_its_name)
{
    make_files();
    temporary_text("list.csv", "path\na.jpg\n");
    temporary_text("list.CSV", "path\na.jpg\n");
    temporary_text("list.txt", "path\na.jpg\n");
    cr_assert(is_csv("list.csv") && is_csv("list.CSV") && !is_csv("list.txt"));
}

Test(source_csv, the_digest_is_that_of_paths_sizes_and_labels)
{
    static const char *const texts[] = {"path,label\na.jpg,1\n", "x,path,label\n,a.jpg,1\n",
                                        "path,label\na.jpg,2\n", "path,label\nb.jpg,1\n"};
    uint64_t digests[4];
    for (int i = 0; i < 4; i++) {
        struct rue_source *source = open_text(texts[i], (struct rue_source_options){0}, NULL);
        digests[i] = rue_source_digest(source);
        rue_source_close(source);
    }
    cr_assert_eq(digests[0], digests[1]);
    cr_assert(digests[0] != digests[2] && digests[0] != digests[3]);
}
