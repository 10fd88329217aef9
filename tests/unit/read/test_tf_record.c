#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tf_record.h"
#include "tf_writer.h"

/* Features as "name:kind:count:first;" */
static void note(void *context, const struct rue_tf_feature *feature)
{
    char *out = context;
    size_t used = strlen(out);
    used += (size_t)sprintf(out + used, "%.*s:%d:%zu:", (int)feature->name_bytes, feature->name,
                            (int)feature->kind, feature->count);
    if (feature->kind == RUE_TF_BYTES && feature->count)
        sprintf(out + used, "%.*s;", (int)feature->byte_count, (const char *)feature->bytes);
    else
        sprintf(out + used, "%d;", feature->count ? (int)feature->integer : 0);
}

static void expect(const char *message, size_t bytes, const char *wanted)
{
    char got[1024] = "";
    uint64_t at = 0;
    cr_assert(rue_tf_example_walk((const unsigned char *)message, bytes, note, got, &at), "damaged at %d",
              (int)at);
    cr_assert_str_eq(got, wanted);
}

#define MESSAGE(text) text, sizeof text - 1

Test(tf_record, lists_are_read_packed_or_not)
{
    expect(MESSAGE(""), "");
    expect(MESSAGE("\x0a\x0e\x0a\x0c\x0a\x01"
                   "a\x12\x07\x1a\x05\x0a\x03\x05\x96\x01"),
           "a:3:2:5;");
    expect(MESSAGE("\x0a\x0d\x0a\x0b\x0a\x01"
                   "a\x12\x06\x1a\x04\x08\x05\x08\x06"),
           "a:3:2:5;");
    expect(MESSAGE("\x0a\x14\x0a\x12\x0a\x01"
                   "a\x12\x0d\x1a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
           "a:3:1:-1;");
    expect(MESSAGE("\x0a\x10\x0a\x0e\x0a\x01"
                   "b\x12\x09\x0a\x07\x0a\x02xy\x0a\x01z"),
           "b:1:2:xy;");
    expect(MESSAGE("\x0a\x0f\x0a\x0d\x0a\x01"
                   "f\x12\x08\x12\x06\x0a\x04\0\0\x80?"),
           "f:2:1:0;");
}

static void keep_feature(void *context, const struct rue_tf_feature *feature)
{
    *(struct rue_tf_feature *)context = *feature;
}

Test(tf_record, ones_among_the_values_are_counted)
{
    static const struct {
        const char *values;
        size_t ones, one_at;
        bool others;
    } lists[] = {{"\0\0\1\0", 1, 2, false},
                 {"\1\0\0\1", 2, 3, false},
                 {"\0\0\0\0", 0, 0, false},
                 {"\1\0\2\0", 1, 0, true},
                 {"\0\0\x7f\1", 1, 3, true}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct rue_tf_feature feature = {0};
        char message[] = "\x0a\x0f\x0a\x0d\x0a\x01"
                         "a\x12\x08\x1a\x06\x0a\x04....";
        uint64_t at;
        memcpy(message + sizeof message - 5, lists[i].values, 4);
        cr_assert(
            rue_tf_example_walk((unsigned char *)message, sizeof message - 1, keep_feature, &feature, &at));
        cr_assert(feature.count == 4 && feature.ones == lists[i].ones && feature.one_at == lists[i].one_at &&
                      feature.others == lists[i].others,
                  "list %zu", i);
    }
}

Test(tf_record, unknown_fields_are_skipped)
{
    expect(MESSAGE("\x10\x07\x1d"
                   "abcd\x21"
                   "abcdefgh\x2a\x02no\x0a\x13\x2a\x01x\x0a\x0e\x18\x01\x0a\x01"
                   "a\x12\x07\x20\x01\x1a\x03\x0a\x01\x05"),
           "a:3:1:5;");
    expect(MESSAGE("\x0a\x05\x0a\x03\x0a\x01"
                   "a"),
           "a:0:0:0;");
}

Test(tf_record, damage_is_reported_with_its_place)
{
    static const struct {
        const char *message;
        size_t bytes, at;
    } bad[] = {{MESSAGE("\x0a"), 1},
               {MESSAGE("\x0a\x05\x0a"), 2},
               {MESSAGE("\x0b"), 1},
               {MESSAGE("\x0a\x02\x0a\x05"), 4},
               {MESSAGE("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), 10},
               {MESSAGE("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 11},
               {MESSAGE("\x02"), 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char got[1024] = "";
        uint64_t at = 99;
        cr_assert_not(
            rue_tf_example_walk((const unsigned char *)bad[i].message, bad[i].bytes, note, got, &at), "%zu",
            i);
        cr_assert_eq(at, bad[i].at, "%zu: byte %d", i, (int)at);
    }
}

static size_t make(unsigned char *message)
{
    const struct rue_tf_item item = {.key = "a/b.jpg", .label = 300, .bytes = 5};
    size_t head = rue_tf_example_head(&item, message);
    memcpy(message + head, "image", 5);
    return head + 5;
}

Test(tf_record, a_written_document_is_read_back)
{
    unsigned char message[RUE_TF_HEAD_MAX + 8];
    expect((const char *)message, make(message), "label:3:1:300;name:1:1:a/b.jpg;image:1:1:image;");
}

/* Whatever a byte becomes, the walk ends and stays within the message. */
Test(tf_record, no_damage_leads_out_of_the_message)
{
    unsigned char message[RUE_TF_HEAD_MAX + 8];
    size_t bytes = make(message);
    for (size_t cut = 0; cut < bytes; cut++) {
        unsigned char *copy = malloc(cut + 1);
        char got[4096] = "";
        uint64_t at = 0;
        memcpy(copy, message, cut);
        cr_assert(rue_tf_example_walk(copy, cut, note, got, &at) == (cut == 0) && at <= cut);
        free(copy);
    }
    for (size_t i = 0; i < bytes * 256; i++) {
        unsigned char *copy = malloc(bytes);
        char got[4096] = "";
        uint64_t at = 0;
        memcpy(copy, message, bytes);
        copy[i / 256] = (unsigned char)i;
        rue_tf_example_walk(copy, bytes, note, got, &at);
        cr_assert_leq(at, bytes);
        free(copy);
    }
}
