#include <criterion/criterion.h>
#include <string.h>

#include "zarr_metadata.h"

static json_t *load(const char *text)
{
    json_error_t fault;
    return rue_zarr_load_json(text, strlen(text), &fault);
}

Test(zarr_json, what_python_writes_becomes_texts)
{
    static const char *const forms[][2] = {
        {"NaN", "NaN"},
        {"Infinity", "Infinity"},
        {"-Infinity", "-Infinity"},
        {"18446744073709551615", "18446744073709551615"},
        {"-9223372036854775809", "-9223372036854775809"},
        {"1e999", "1e999"},
        {"-1e999", "-1e999"},
        {"\"a\\u0000b\"", "a\\u0000b"},
        {"\"\\udce9\"", "\\udce9"},
        {"\"\\ud83d\"", "\\ud83d"},
        {"\"\\ud83d\\u0041\"", "\\ud83dA"},
        {"\"\\ude00\\ud83d\"", "\\ude00\\ud83d"},
        {"\"\\ud83d\\ud83d\\ude00\"", "\\ud83d\xF0\x9F\x98\x80"},
        {"\"\xED\xB3\xA9\"", "\xEF\xBF\xBD"},
        {"\"NaN, \\\"-Infinity\\\" 18446744073709551615\"", "NaN, \"-Infinity\" 18446744073709551615"},
        {"\"\\\\u0000\\\\\"", "\\u0000\\"},
        {"\"\\\\\\ud800\"", "\\\\ud800"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[128];
        snprintf(text, sizeof text, "{\"a\": [%s, {\"b\":%s}]}", forms[i][0], forms[i][0]);
        json_t *object = load(text), *list = json_object_get(object, "a");
        const char *first = json_string_value(json_array_get(list, 0));
        const char *second = json_string_value(json_object_get(json_array_get(list, 1), "b"));
        cr_assert(first && strcmp(first, forms[i][1]) == 0, "%s: %s", text, first ? first : "none");
        cr_assert(second && strcmp(second, forms[i][1]) == 0, "%s", text);
        json_decref(object);
    }
}

Test(zarr_json, valid_json_is_unchanged)
{
    static const char *const forms[] = {"{\"a\": 1, \"b\": -2.5e-3, \"c\": [true, false, null], \"d\": {}}",
                                        "[123456789012345678, -123456789012345678, 1e300, 0.0]",
                                        "[\"\\ud83d\\ude00 \\\" \\\\ \\n \\u00e9 \xC3\xA9\"]"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        json_t *object = load(forms[i]), *expected = json_loads(forms[i], 0, NULL);
        cr_assert(object && json_equal(object, expected), "%s", forms[i]);
        json_decref(object);
        json_decref(expected);
    }
}

Test(zarr_json, what_python_refuses_too_is_refused)
{
    static const char *const forms[] = {
        "",       "[Nan]",      "[NaNN]",        "[-]",       "[.5]",
        "[1 2]",  "[NaN",       "[\"a",          "[\"\\x\"]", "[+1]",
        "[\"\\",  "[\"\\u12",   "[\"\\ud800\\u", "{1: 2}",    "[tru]",
        "[-NaN]", "[\"a\nb\"]", "[\"\\ud8",      "[I]",       "{\"a\": 1, \"a\": NaN}"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) cr_assert_null(load(forms[i]), "%s", forms[i]);
}
