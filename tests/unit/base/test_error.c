#include <criterion/criterion.h>
#include <string.h>

#include "error.h"

Test(error, the_first_one_wins)
{
    rue_error error = {0};
    cr_assert_eq(rue_fail(&error, RUE_DATA, "first %d", 1), RUE_DATA);
    cr_assert_eq(rue_fail(&error, RUE_STORE, "second"), RUE_STORE);
    cr_assert_eq(error.status, RUE_DATA);
    cr_assert_str_eq(error.message, "first 1");
    cr_assert_eq(rue_fail(NULL, RUE_DATA, "nobody listens"), RUE_DATA);
}

Test(error, a_long_path_leaves_room_for_the_reason)
{
    char path[4096];
    rue_error error = {0};
    memset(path, 'd', sizeof path - 1);
    path[sizeof path - 1] = 0;
    rue_fail(&error, RUE_DATA, "cannot read %s: gone; look elsewhere", path);
    cr_assert_eq(strlen(error.message), sizeof error.message - 1);
    cr_assert(strncmp(error.message, "cannot read ddd", 15) == 0);
    cr_assert(strstr(error.message, "d ... d"));
    cr_assert(strstr(error.message, "d: gone; look elsewhere"));
}

Test(error, a_message_that_fits_is_not_shortened)
{
    char out[40];
    rue_error_shorten("exactly thirty-nine bytes, not one more", out, sizeof out);
    cr_assert_str_eq(out, "exactly thirty-nine bytes, not one more");
    rue_error_shorten("exactly thirty-nine bytes, and now one more", out, sizeof out);
    cr_assert_str_eq(out, "exactly thirty-ni ...  and now one more");
}

Test(error, characters_stay_whole)
{
    char out[26];
    for (int shift = 0; shift < 3; shift++) {
        char text[128] = "";
        memset(text, 'a', (size_t)shift);
        for (int i = 0; i < 20; i++) strcat(text, "\xe2\x82\xac"); /* a euro sign */
        rue_error_shorten(text, out, sizeof out);
        const char *gap = strstr(out, " ... ");
        cr_assert_not_null(gap);
        cr_assert_eq((gap - out - shift) % 3, 0, "%s", out);
        cr_assert_eq(strlen(gap + 5) % 3, 0, "%s", out);
    }
}
