#include "commands.h"
#include "help.h"
#include "options.h"

#include <criterion/criterion.h>

#include "options_fixture.h"

static const char *const ways[] = {"batch", "sample", NULL};
static const struct rue_option table[] = {
    {"batch-size", RUE_OPTION_COUNT, "N", "32", "images in a batch", 1, 1024, NULL},
    {"fresh", RUE_OPTION_FLAG, NULL, NULL, "start over", 0, 0, NULL, .set_by = RUE_SET_BY_USER},
    {"name", RUE_OPTION_TEXT, "TEXT", NULL, "of the run", 0, 0, NULL},
    {"budget", RUE_OPTION_DURATION, "TIME", "2m", "time to spend", 0, 0, NULL},
    {"memory", RUE_OPTION_BYTES, "SIZE", NULL, "for batches", 0, 0, NULL},
    {"way", RUE_OPTION_WORD, "WAY", "batch", "how workers share", 0, 0, ways},
    {"seed", RUE_OPTION_COUNT, "K", NULL, "of what is random", 0, INT64_MAX, NULL},
    {"limitless", RUE_OPTION_COUNT, "N", NULL, "any number", 0, 0, NULL, .usual = "no limit"},
    {"share", RUE_OPTION_PERCENTAGE, "PERCENT", NULL, "of all", 10, 5000, NULL},
    {"limit", RUE_OPTION_BUDGET, "LIMIT", "2m", "for all", 0, 0, NULL},
    {"part", RUE_OPTION_COUNT, "N", "1", "of the whole", 1, 9, NULL, .set_by = RUE_SET_BY_FLAG},
};
static const struct rue_command command = {.name = "try",
                                           .arguments = "[DATA] [OTHER]",
                                           .summary = "Tries options.",
                                           .details = "In detail.",
                                           .options = table,
                                           .option_count = sizeof table / sizeof *table};

TestSuite(options, .init = options_setup, .fini = options_teardown);

static void accept(const char *const *words)
{
    options_accept(&command, words);
}

static void refuse(const char *const *words, const char *says)
{
    rue_error error = {0};
    cr_assert_eq(options_parse(&command, words, &error), RUE_USAGE, "it was taken instead of '%s'", says);
    cr_assert(strstr(error.message, says), "'%s' does not say '%s'", error.message, says);
}

Test(options, no_options_give_the_table_s_defaults)
{
    accept(WORDS(NULL));
    cr_assert_eq(rue_options_number(options, "batch-size"), 32);
    cr_assert_not(rue_options_flag(options, "fresh"));
    cr_assert_null(rue_options_text(options, "name"));
    cr_assert_eq(rue_options_number(options, "budget"), UINT64_C(120000000000));
    cr_assert_eq(rue_options_number(options, "memory"), 0);
    cr_assert_eq(rue_options_word(options, "way"), 0);
    cr_assert_str_eq(rue_options_origin(options, "batch-size"), "default");
    cr_assert_str_eq(rue_options_origin(options, "name"), "");
    cr_assert_eq(rue_options_word(options, "name"), -1);
    cr_assert_eq(rue_options_argument_count(options), 0);
}

Test(options, every_kind_is_read)
{
    accept(WORDS("--batch-size", "128", "--fresh", "--name", "a b", "--budget", "90s", "--memory", "8G",
                 "--way", "sample", "--seed", "0", "--limitless", "18446744073709551615", "--share", "2.5%",
                 "--limit", "500trials"));
    cr_assert_float_eq(rue_options_ratio(options, "share"), 0.025, 1e-15);
    cr_assert_eq(rue_options_budget(options, "limit").trials, 500);
    cr_assert_eq(rue_options_budget(options, "limit").time_ns, 0);
    cr_assert_eq(rue_options_number(options, "batch-size"), 128);
    cr_assert(rue_options_flag(options, "fresh"));
    cr_assert_str_eq(rue_options_text(options, "name"), "a b");
    cr_assert_eq(rue_options_number(options, "budget"), UINT64_C(90000000000));
    cr_assert_eq(rue_options_number(options, "memory"), UINT64_C(8) << 30);
    cr_assert_eq(rue_options_word(options, "way"), 1);
    cr_assert_eq(rue_options_number(options, "seed"), 0);
    cr_assert_eq(rue_options_number(options, "limitless"), UINT64_MAX);
    cr_assert_str_eq(rue_options_origin(options, "seed"), "--seed");
}

Test(options, a_flag_beats_the_environment_beats_the_file_beats_the_default)
{
    temporary_text("rue.json", "{\"batch-size\": 64}");
    accept(WORDS(NULL));
    cr_assert_eq(rue_options_number(options, "batch-size"), 64);
    cr_assert_str_eq(rue_options_origin(options, "batch-size"), "rue.json");
    setenv("RUE_BATCH_SIZE", "128", 1);
    accept(WORDS(NULL));
    cr_assert_eq(rue_options_number(options, "batch-size"), 128);
    cr_assert_str_eq(rue_options_origin(options, "batch-size"), "RUE_BATCH_SIZE");
    accept(WORDS("--batch-size", "256"));
    cr_assert_eq(rue_options_number(options, "batch-size"), 256);
    cr_assert_str_eq(rue_options_origin(options, "batch-size"), "--batch-size");
    accept(WORDS("--batch-size", "256", "--batch-size", "512"));
    cr_assert_eq(rue_options_number(options, "batch-size"), 512, "the last one wins");
}

Test(options, a_percentage_has_its_sign_and_keeps_its_bounds)
{
    accept(WORDS("--share", "0.1%"));
    accept(WORDS("--share", "50%"));
    static const char *const wrong[] = {"0%",   "0.09%",       "50.01%", "100%", "-1%",
                                        "1e9%", "1000000000%", "nan%",   "inf%", "nan",
                                        "0.5",  "5%%",         " 5%",    "%",    "5 %"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(WORDS("--share", wrong[i]), "is not a percentage such as 2.5% from 0.1% to 50%");
}

Test(options, options_set_only_by_a_flag_cannot_be_set_elsewhere)
{
    temporary_text("rue.json", "{\"part\": [2]}");
    setenv("RUE_PART", "three", 1);
    accept(WORDS(NULL));
    cr_assert_eq(rue_options_number(options, "part"), 1);
    cr_assert_str_eq(rue_options_origin(options, "part"), "default");
    accept(WORDS("--part", "4"));
    cr_assert_eq(rue_options_number(options, "part"), 4);
}

Test(options, options_that_act_for_the_user_cannot_be_set_in_a_file)
{
    static const char *const files[] = {"{\"fresh\": true}", "{\"fresh\": false}", "{\"fresh\": [1]}"};
    for (size_t i = 0; i < 3; i++) {
        temporary_text("rue.json", files[i]);
        refuse(WORDS(NULL), "rue.json: \"fresh\" cannot be set in a file");
        refuse(WORDS("--fresh"), "remove it there and use --fresh or RUE_FRESH");
    }
    temporary_text("rue.json", "{}");
    setenv("RUE_FRESH", "1", 1);
    accept(WORDS(NULL));
    cr_assert(rue_options_flag(options, "fresh"));
    cr_assert_str_eq(rue_options_origin(options, "fresh"), "RUE_FRESH");
}

static bool acts_for_the_user(const struct rue_option *option)
{
    static const char *const names[] = {"runner", "out", "study", "html", "junit", "fresh", "force"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(option->name, names[i]) == 0) return true;
    return option->kind == RUE_OPTION_COMMAND;
}

Test(options, no_command_starts_writes_or_discards_because_of_a_file)
{
    size_t acting = 0;
    for (size_t c = 0; rue_commands[c]; c++)
        for (size_t i = 0; i < rue_commands[c]->option_count; i++) {
            const struct rue_option *option = &rue_commands[c]->options[i];
            acting += acts_for_the_user(option);
            cr_assert(!acts_for_the_user(option) || option->set_by != RUE_SET_BY_ALL, "rue %s --%s",
                      rue_commands[c]->name, option->name);
        }
    cr_assert_eq(acting, 22);
}

/* Settings have no command: what sets an option of one command sets that of the same name in all others. */
Test(options, options_with_equal_names_have_equal_kinds)
{
    size_t shared = 0;
    for (size_t i = 0; rue_commands[i]; i++)
        for (size_t j = 0; j < i; j++)
            for (size_t a = 0; a < rue_commands[i]->option_count; a++)
                for (size_t b = 0; b < rue_commands[j]->option_count; b++) {
                    const struct rue_option *one = &rue_commands[i]->options[a],
                                            *other = &rue_commands[j]->options[b];
                    if (strcmp(one->name, other->name) != 0 || one->set_by == RUE_SET_BY_FLAG ||
                        other->set_by == RUE_SET_BY_FLAG)
                        continue;
                    cr_assert_eq(one->kind, other->kind, "--%s", one->name);
                    if (one->kind != RUE_OPTION_WORD)
                        cr_assert(one->min == other->min && one->max == other->max, "--%s", one->name);
                    for (size_t w = 0; one->words && one->words[w]; w++)
                        cr_assert_str_eq(one->words[w], other->words[w], "--%s", one->name);
                    shared++;
                }
    cr_assert_gt(shared, 3, "quiet, json, top-n, bad-images, ...");
}

Test(options, the_command_line_is_stored_with_shell_quotes)
{
    accept(WORDS("my photos", "--name", "o'brien", "--budget=5m"));
    cr_assert_str_eq(rue_options_command_line(options),
                     "rue try 'my photos' --name 'o'\\''brien' --budget=5m");
    accept(WORDS(NULL));
    cr_assert_str_eq(rue_options_command_line(options), "rue try");
}

Test(options, an_empty_variable_is_ignored)
{
    setenv("RUE_BATCH_SIZE", "", 1);
    accept(WORDS(NULL));
    cr_assert_str_eq(rue_options_origin(options, "batch-size"), "default");
}

Test(options, dashes_and_underscores_are_equivalent)
{
    temporary_text("rue.json", "{\"batch_size\": \"48\"}");
    accept(WORDS(NULL));
    cr_assert_eq(rue_options_number(options, "batch-size"), 48);
    accept(WORDS("--batch_size", "96"));
    cr_assert_eq(rue_options_number(options, "batch-size"), 96);
    cr_assert_str_eq(rue_options_origin(options, "batch-size"), "--batch-size");
}

Test(options, a_value_may_follow_an_equals_sign)
{
    accept(WORDS("--batch-size=7", "--name=a=b", "--fresh=no", "--way=sample"));
    cr_assert_eq(rue_options_number(options, "batch-size"), 7);
    cr_assert_str_eq(rue_options_text(options, "name"), "a=b");
    cr_assert_not(rue_options_flag(options, "fresh"));
    accept(WORDS("--fresh=true"));
    cr_assert(rue_options_flag(options, "fresh"));
    refuse(WORDS("--fresh=maybe"), "true or false");
    refuse(WORDS("--name="), "--name");
}

Test(options, values_outside_their_bounds_are_refused_with_the_bounds)
{
    refuse(WORDS("--batch-size", "0"), "--batch-size: '0' is not a whole number from 1 to 1024");
    refuse(WORDS("--batch-size", "1025"), "from 1 to 1024");
    refuse(WORDS("--batch-size", "-5"), "from 1 to 1024");
    refuse(WORDS("--batch-size", "5x"), "'5x'");
    refuse(WORDS("--batch-size", " 5"), "' 5'");
    refuse(WORDS("--batch-size", "5.0"), "'5.0'");
    refuse(WORDS("--limitless", "18446744073709551616"), "--limitless");
    refuse(WORDS("--seed", "9223372036854775808"), "--seed");
    refuse(WORDS("--budget", "5"), "a time such as 2m");
    refuse(WORDS("--budget", "0s"), "a time such as 2m");
    refuse(WORDS("--memory", "lots"), "a size such as 8G");
    refuse(WORDS("--way", "both"), "one of batch, sample");
}

Test(options, counts_may_have_a_suffix_or_an_exponent)
{
    static const struct {
        const char *text;
        uint64_t number;
    } counts[] = {
        {"64k", 64000},      {"64K", 64000}, {"100M", 100000000}, {"1G", 1000000000},
        {"1e9", 1000000000}, {"0k", 0},      {"7e0", 7},          {"18446744073G", 18446744073000000000U},
        {"0e99999999999", 0}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        accept(WORDS("--limitless", counts[i].text));
        cr_assert_eq(rue_options_number(options, "limitless"), counts[i].number, "%s", counts[i].text);
    }
    static const char *const wrong[] = {"k",  "1.5M", "64kB", "64ki", "5m",          "5g",
                                        "5T", "5k6",  "1e",   "1e9k", "18446744074G"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(WORDS("--limitless", wrong[i]), "is not a whole number, such as 5000, 64k, 100M or 1e9");
    refuse(WORDS("--batch-size", "2k"), "--batch-size: '2k' is not a whole number from 1 to 1024");
}

Test(options, the_environment_is_checked_like_flags)
{
    setenv("RUE_WAY", "both", 1);
    refuse(WORDS(NULL), "RUE_WAY: 'both' is not one of batch, sample");
}

Test(options, a_mistyped_option_gets_a_suggestion)
{
    refuse(WORDS("--bach-size", "5"), "did you mean '--batch-size'?");
    refuse(WORDS("--bach_size=5"), "did you mean '--batch-size'?");
    refuse(WORDS("--hepl"), "did you mean '--help'?");
    refuse(WORDS("--zzzzzzz"), "'rue try --help' lists the options");
    refuse(WORDS("-b"), "unknown option -b");
}

Test(options, a_missing_value_is_reported)
{
    refuse(WORDS("--budget"), "--budget needs a value (TIME)");
    refuse(WORDS("--budget", "--seed", "5"), "--budget needs a value (TIME)");
}

Test(options, arguments_are_accepted_anywhere)
{
    accept(WORDS("one", "--seed", "5", "two"));
    cr_assert_eq(rue_options_argument_count(options), 2);
    cr_assert_str_eq(rue_options_arguments(options)[0], "one");
    cr_assert_str_eq(rue_options_arguments(options)[1], "two");
    refuse(WORDS("one", "two", "three"), "one argument too many: 'three' (usage: rue try [DATA] [OTHER])");
}

Test(options, a_flag_does_not_consume_an_argument)
{
    accept(WORDS("--fresh", "data"));
    cr_assert_eq(rue_options_argument_count(options), 1);
}

Test(options, after_two_dashes_all_are_arguments)
{
    accept(WORDS("--fresh", "--", "--seed", "-"));
    cr_assert_eq(rue_options_argument_count(options), 2);
    cr_assert_str_eq(rue_options_arguments(options)[0], "--seed");
    cr_assert_str_eq(rue_options_arguments(options)[1], "-");
    accept(WORDS("--", "--help"));
    cr_assert_not(help);
}

Test(options, a_single_dash_is_an_argument)
{
    accept(WORDS("-"));
    cr_assert_eq(rue_options_argument_count(options), 1);
}

Test(options, the_usage_says_which_arguments_are_required)
{
    static const struct {
        const char *usage, *words[4], *fault;
    } cases[] = {{"", {"a"}, "one argument too many: 'a'"},
                 {"DATA", {NULL}, "DATA is missing"},
                 {"[SRC] DST", {NULL}, "DST is missing"},
                 {"[SRC] DST", {"a", "b"}, NULL},
                 {"FILE [DATA]", {"a"}, NULL},
                 {"A OTHER...", {"a"}, "OTHER... is missing"},
                 {"A OTHER...", {"a", "b", "c"}, NULL},
                 {"[DATA...]", {NULL}, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rue_command own = command;
        rue_error error = {0};
        own.arguments = cases[i].usage;
        rue_status status = options_parse(&own, cases[i].words, &error);
        cr_assert_eq(status, cases[i].fault ? RUE_USAGE : RUE_OK, "%s: %s", own.arguments, error.message);
        if (!cases[i].fault) continue;
        cr_assert(strstr(error.message, cases[i].fault), "%s", error.message);
        cr_assert(strstr(error.message, "usage: rue try"), "%s", error.message);
    }
}

Test(options, help_is_shown_despite_other_errors)
{
    accept(WORDS("--nonsense", "--help"));
    cr_assert(help);
    accept(WORDS("-h"));
    cr_assert(help);
    temporary_text("rue.json", "nonsense");
    accept(WORDS("--help"));
    cr_assert(help);
}

Test(options, an_invalid_settings_file_is_reported_with_its_line)
{
    temporary_text("rue.json", "{\n  \"seed\": 5,\n}");
    refuse(WORDS(NULL), "rue.json, line 3");
    temporary_text("rue.json", "[1]");
    refuse(WORDS("--fresh"), "rue.json");
    temporary_text("rue.json", "{\"seed\": 1, \"seed\": 2}");
    refuse(WORDS(NULL), "duplicate");
    temporary_text("rue.json", "{\"seed\": 1.5}");
    refuse(WORDS(NULL), "rue.json: \"seed\" must be");
    temporary_text("rue.json", "{\"batch-size\": 5000}");
    refuse(WORDS(NULL), "rue.json: '5000' is not a whole number from 1 to 1024");
}

Test(options, a_settings_file_may_contain_options_of_other_commands)
{
    temporary_text("rue.json", "{\"port\": [1, 2], \"budget\": \"5s\", \"way\": \"sample\"}");
    accept(WORDS(NULL));
    cr_assert_eq(rue_options_number(options, "budget"), UINT64_C(5000000000));
    cr_assert_eq(rue_options_word(options, "way"), 1);
}

/* What `print` wrote, in a buffer of its own. */
static const char *printed(void (*print)(FILE *out))
{
    static char text[4096];
    FILE *out = fmemopen(text, sizeof text, "w");
    print(out);
    fclose(out);
    return text;
}

static void print_help(FILE *out)
{
    rue_help_show_command(&command, true, 200, out);
}

static void print_values(FILE *out)
{
    const struct rue_unset unset[] = {{"name", "the data's"}, {"no-such-option", "nothing"}, {0}};
    rue_options_show(options, unset, &(struct rue_report_style){.unicode = true, .columns = 100}, out);
}

Test(options, help_shows_the_whole_table)
{
    const char *text = printed(print_help);
    cr_assert(strstr(text, "Usage: rue try [OPTIONS] [DATA] [OTHER]\n"), "%s", text);
    cr_assert(strstr(text, "Tries options.") && strstr(text, "In detail.") && strstr(text, "--help"), "%s",
              text);
    for (size_t i = 0; i < command.option_count; i++) {
        cr_assert(strstr(text, table[i].name), "%s", table[i].name);
        cr_assert(strstr(text, table[i].help), "%s", table[i].help);
    }
    cr_assert(strstr(text, "time to spend [2m]"), "%s", text);
    cr_assert(strstr(text, "of the whole [1]. Only as a flag."), "%s", text);
    cr_assert(strstr(text, "start over. Not allowed in rue.json."), "%s", text);
}

Test(options, values_are_shown_with_their_origin)
{
    setenv("RUE_SEED", "5", 1);
    accept(WORDS("--name", "x"));
    const char *text = printed(print_values);
    cr_assert(strstr(text, "(default)") && strstr(text, "(RUE_SEED)") && strstr(text, "(--name)"), "%s",
              text);
    cr_assert_null(strstr(text, "memory"), "what nothing is known of is left out");
    accept(WORDS(NULL));
    text = printed(print_values);
    cr_assert(strstr(text, "the data's (default)") && strstr(text, "false (default)"), "%s", text);
    cr_assert(strstr(text, "no limit (default)"), "%s", text);
}

Test(options, close_accepts_null)
{
    rue_options_close(NULL);
}
