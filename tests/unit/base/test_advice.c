#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "advice.h"

Test(advice, says_which_limit_to_raise)
{
    cr_assert(strstr(rue_advice(EMFILE), "(ulimit -n)"));
    cr_assert(strstr(rue_advice(EFBIG), "(ulimit -f)"));
    cr_assert(strstr(rue_advice(ENOMEM), "(ulimit -v)"));
    cr_assert(strstr(rue_advice(EAGAIN), "(ulimit -u)"));
    cr_assert(strstr(rue_advice(ENOSPC), "free some space"));
}

Test(advice, causes_with_several_remedies_get_no_advice)
{
    cr_assert_str_eq(rue_advice(EACCES), "");
    cr_assert_str_eq(rue_advice(0), "");
    cr_assert_str_eq(rue_advice_or(EACCES, "; go elsewhere"), "; go elsewhere");
    cr_assert_str_eq(rue_advice_or(EMFILE, "; go elsewhere"), rue_advice(EMFILE));
}
