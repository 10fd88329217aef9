/* Options that are parsed from words, in a folder without settings. */
#ifndef RUE_OPTIONS_FIXTURE_H
#define RUE_OPTIONS_FIXTURE_H

#include <criterion/criterion.h>
#include <unistd.h>

#include "options.h"
#include "temporary_folder.h"

static struct rue_options *options; /* those that were parsed last; closed at the end */
static bool help;

static void options_setup(void)
{
    temporary_folder_make();
    cr_assert_eq(chdir(temporary_folder), 0);
}

static void options_teardown(void)
{
    rue_options_close(options);
    cr_assert_eq(chdir("/"), 0);
    temporary_folder_remove();
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static rue_status options_parse(const struct rue_command *with, const char *const *words, rue_error *error)
{
    int count = 0;
    while (words[count]) count++;
    rue_options_close(options);
    options = NULL;
    return rue_options_parse(with, count, (char **)words, &options, &help, error);
}

static void options_accept(const struct rue_command *with, const char *const *words)
{
    rue_error error = {0};
    cr_assert_eq(options_parse(with, words, &error), RUE_OK, "%s", error.message);
}

#endif
