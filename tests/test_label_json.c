#include "label_json.h"

#include <criterion/criterion.h>
#include <string.h>

static enum rue_label_found find(const char *text, int64_t *out)
{
    return rue_label_json(text, strlen(text), "label", out);
}

Test(label_json, the_number_is_found_among_anything_else)
{
    static const struct {
        const char *text;
        int64_t label;
    } good[] = {{"{\"label\":7}", 7},
                {" { \"a\" : [1, {\"label\": 3}, null], \"label\" : 12 , \"b\":-1.5e+3}\n", 12},
                {"{\"label\": -4, \"x\": \"\\\"}{\"}", -4},
                {"{\"x\": {\"label\": 1}, \"y\": [], \"z\": {}, \"label\": 0}", 0},
                {"{\"label\": 1, \"label\": 2}", 2}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t label = 99;
        cr_assert_eq(find(good[i].text, &label), RUE_LABEL_NUMBER, "%s", good[i].text);
        cr_assert_eq(label, good[i].label);
    }
}

Test(label_json, another_label_is_told_from_none)
{
    static const char *const odd[] = {"{\"label\":1.5}",
                                      "{\"label\":\"7\"}",
                                      "{\"a\": 1, \"label\": [7]}",
                                      "{\"label\":true}",
                                      "{\"label\":99999999999999999999}",
                                      "{\"label\":7"};
    int64_t label;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        cr_assert_eq(find(odd[i], &label), RUE_LABEL_ODD, "%s", odd[i]);
}

Test(label_json, what_is_no_object_with_a_label_has_none)
{
    static const char *const bad[] = {"",
                                      "7",
                                      "[7]",
                                      "{}",
                                      "{\"label\":nullx}",
                                      "{\"label\":7} x",
                                      "{\"label\":7,}",
                                      "{\"label\": null}",
                                      "{\"label\":null, \"x\": 1}",
                                      "{\"lab",
                                      "{\"a\":\"\\",
                                      "{\"other\":7}",
                                      "{\"a\" 1, \"label\":7}"};
    int64_t label;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(find(bad[i], &label), RUE_LABEL_NONE, "%s", bad[i]);
    char deep[400] = "{\"a\":";
    memset(deep + 5, '[', 300);
    cr_assert_eq(find(deep, &label), RUE_LABEL_NONE);
}
