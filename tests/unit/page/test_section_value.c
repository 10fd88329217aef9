#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "section.h"
#include "utf8.h"

static int text_width(enum rue_unit unit, double number, bool unicode)
{
    const struct rue_table_column column = {.unit = unit, .digits = 2};
    const struct rue_value value = {.number = number, .mark = '*'};
    char *text = rue_value_text(&column, &value, unicode);
    cr_assert_not_null(text);
    int width = rue_utf8_width(text);
    free(text);
    return width;
}

Test(section_value, a_bar_is_never_longer_than_the_whole)
{
    static const struct {
        double share;
        int width;
    } bars[] = {{0, 0},   {0.5, 10}, {1, 20},     {1.01, 20}, {900, 20},  {1e308, 20},    {INFINITY, 0},
                {NAN, 0}, {-1, 0},   {-1e308, 0}, {0.024, 0}, {0.026, 1}, {-INFINITY, 0}, {0x1p58, 20}};
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++)
        for (int unicode = 0; unicode < 2; unicode++)
            cr_assert_eq(text_width(RUE_UNIT_BAR, bars[i].share, unicode), bars[i].width, "%g",
                         bars[i].share);
}

Test(section_value, every_number_has_a_text)
{
    static const double numbers[] = {0,        -0.0,   1,        -1,        0.5,   1e-300,
                                     999.5e-3, 0x1p58, 0x1p63,   0x1p64,    1e300, 1e308,
                                     -1e308,   5e-324, INFINITY, -INFINITY, NAN};
    for (int unit = RUE_UNIT_NUMBER; unit <= RUE_UNIT_BAR; unit++)
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            cr_assert_leq(text_width((enum rue_unit)unit, numbers[i], true), 32, "unit %d, %g", unit,
                          numbers[i]);
}
