#include "runner_identity.h"

#include <criterion/criterion.h>
#include <string.h>

static char text[RUE_IDENTITY_TEXT_BYTES];

static json_t *parse_object(const char *line)
{
    json_t *object = json_loads(line, 0, NULL);
    cr_assert_not_null(object, "%s", line);
    return object;
}

static bool differs(const char *before, const char *now, const char *const *keys)
{
    json_t *a = parse_object(before), *b = parse_object(now);
    text[0] = 0;
    bool does = rue_runner_identity_differs(a, b, keys, text);
    json_decref(a);
    json_decref(b);
    return does;
}

static void expect(const char *before, const char *now, const char *says)
{
    cr_assert(differs(before, now, rue_hello_keys), "%s is taken for %s", now, before);
    cr_assert_str_eq(text, says);
    cr_assert(differs(now, before, rue_hello_keys));
}

Test(runner_identity, the_first_key_that_differs_is_named_with_both_values)
{
    expect("{\"loader\":\"a 1.0\"}", "{\"loader\":\"b\"}", "\"loader\" was \"a 1.0\" and is \"b\"");
    expect("{\"runner\":\"a\",\"loader\":\"x\"}", "{\"runner\":\"b\",\"loader\":\"y\"}",
           "\"runner\" was \"a\" and is \"b\"");
    expect("{\"clock\":\"virtual\"}", "{}", "\"clock\" was \"virtual\" and is absent");
    expect("{}", "{\"images\":5}", "\"images\" was absent and is 5");
    expect("{\"measures\":[\"joint\"]}", "{\"measures\":[]}", "\"measures\" was [\"joint\"] and is []");
}

Test(runner_identity, null_means_absent_and_order_and_unknown_keys_do_not_count)
{
    cr_assert(
        !differs("{\"runner\":\"a\",\"images\":null}", "{\"mood\":1,\"runner\":\"a\"}", rue_hello_keys));
    cr_assert(
        !differs("{\"machine\":{\"a\":1,\"b\":null}}", "{\"machine\":{\"a\":1,\"b\":null}}", rue_hello_keys));
    cr_assert(!differs("{\"images\":5,\"note\":\"x\",\"cache_reason\":\"1 GB free\"}",
                       "{\"cache_reason\":\"2 GB free\",\"images\":5}", rue_opened_keys));
}

Test(runner_identity, every_key_counts)
{
    char line[64];
    for (int data = 0; data < 2; data++) {
        for (const char *const *key = data ? rue_opened_keys : rue_hello_keys; *key; key++) {
            snprintf(line, sizeof line, "{\"%s\":1}", *key);
            cr_assert(differs(line, "{}", data ? rue_opened_keys : rue_hello_keys));
            cr_assert(strstr(text, *key), "%s", text);
        }
    }
}

Test(runner_identity, long_values_are_cut)
{
    char before[8000] = "{\"runner\":\"";
    memset(before + 11, 'x', 7000);
    strcpy(before + 7011, "\"}");
    cr_assert(differs(before, "{\"runner\":\"b\"}", rue_hello_keys));
    cr_assert(strlen(text) < 300 && strstr(text, " ... ") && strstr(text, "and is \"b\""), "%s", text);
}
