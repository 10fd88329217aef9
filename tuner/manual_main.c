/* Writes the manual, rue(1), as scdoc source on standard output: a program of the build, not installed. What
 * the tables know comes from the tables; the rest is what belongs to no single command. */
#include <stdlib.h>
#include <string.h>

#include "catalogue.h"
#include "commands.h"
#include "help.h"
#include "options.h"
#include "report.h"
#include "source.h"

enum { BLOCK_BYTES = 2048 };

/* Characters that scdoc gives a meaning stay what they are. */
static void put(const char *text)
{
    for (const char *at = text; *at; at++) {
        bool marks = strchr("_*\\#|[]<>+~`", *at) || ((*at == '.' || *at == '-') && at == text);
        if (marks) putchar('\\');
        putchar(*at);
    }
}

static void put_section(const char *name)
{
    printf("\n# %s\n\n", name);
}

static void put_bold(const char *text)
{
    putchar('*');
    put(text);
    putchar('*');
}

static void put_synopsis(void)
{
    put_section("SYNOPSIS");
    for (size_t c = 0; rue_commands[c]; c++) {
        printf("*rue %s*%s", rue_commands[c]->name, rue_commands[c]->option_count ? " \\[OPTIONS\\]" : "");
        if (*rue_commands[c]->arguments) putchar(' ');
        put(rue_commands[c]->arguments);
        printf("++\n");
    }
    printf("*rue* *help* \\[COMMAND\\]++\n*rue* *--version*\n");
}

static void put_option(const struct rue_option *option)
{
    char kind[256];
    rue_option_describe(option, kind, sizeof kind);
    printf("*\\-\\-%s*%s%s%s\n\t", option->name, option->argument ? " _" : "",
           option->argument ? option->argument : "", option->argument ? "_" : "");
    put(option->help);
    printf(".\n");
    bool one_word = option->words && !option->words[1];
    if (option->kind != RUE_OPTION_FLAG && option->kind != RUE_OPTION_TEXT && !one_word) {
        printf("\tThe value is ");
        put(kind);
        printf(".\n");
    }
    if (option->fallback) {
        printf("\tDefault: ");
        put(option->fallback);
        printf(".\n");
    }
    if (option->set_by == RUE_SET_BY_FLAG)
        printf("\tOnly the flag sets it: other commands give that name another meaning.\n");
    if (option->set_by == RUE_SET_BY_USER)
        printf("\tThe flag and the environment set it, *" RUE_SETTINGS_FILE "* does not.\n");
    putchar('\n');
}

/* The paragraphs of a command's details, or its examples. */
static void put_details(const struct rue_command *command, bool examples)
{
    char text[BLOCK_BYTES];
    const char *at = command->details;
    bool example;
    while (at && rue_details_next(&at, text, sizeof text, &example)) {
        if (example != examples) continue;
        if (example) {
            printf("  %s\n", text);
        } else {
            put(text);
            printf("\n\n");
        }
    }
}

static void put_commands(void)
{
    put_section("COMMANDS");
    for (size_t c = 0; rue_commands[c]; c++) {
        const struct rue_command *command = rue_commands[c];
        printf("## rue %s\n\n", command->name);
        put(command->summary);
        printf("\n\n");
        put_details(command, false);
        for (size_t i = 0; i < command->option_count; i++) put_option(&command->options[i]);
        printf("*\\-\\-help*\n\t" RUE_HELP_TEXT ".\n\n");
    }
}

static void put_models(void)
{
    put_section("MODELS");
    printf("These models are simulated by what a batch takes on a device (*rue models* tells it):\n\n");
    for (size_t i = 0; i < rue_catalogue_count(); i++) {
        put(rue_catalogue_name(i));
        printf(i + 1 < rue_catalogue_count() ? ", " : ".\n\n");
    }
    printf("*resnet50@h100* and *resnet50@h100:bf16* name a device and a precision; without, it is an NVIDIA "
           "RTX A5000 in fp32, unless *\\-\\-device* says otherwise.\n\n");
    printf(
        "A model that sleeps is written like *sleep:250ms/batch* or *sleep:1.5ms/image+2ms*; *none* takes no "
        "time.\n\n");
    printf(
        "Behind any name but *none*, *+jitter=5%%* lets each batch take a random time, 5 %% its standard "
        "deviation, and *+host=20%%* makes launching a batch cost 20 %% of its time as CPU time of the "
        "consumer's "
        "thread. Behind an *@*, also the path of a device table may stand, *resnet50@h100.json*, which *rue "
        "calibrate* writes.\n");
}

static void put_formats(void)
{
    put_section("DATA");
    for (size_t i = 0; rue_source_formats[i]; i++) {
        put_bold(rue_source_formats[i]->format);
        const bool *holds = rue_source_formats[i]->holds;
        printf(" (%s%s%s)\n\t", holds[RUE_RAW] ? rue_mode_names[RUE_RAW] : "",
               holds[RUE_RAW] && holds[RUE_PREPROCESSED] ? ", " : "",
               holds[RUE_PREPROCESSED] ? rue_mode_names[RUE_PREPROCESSED] : "");
        put(rue_source_formats[i]->help);
        printf("\n\n");
    }
}

static void put_environment(void)
{
    put_section("ENVIRONMENT");
    printf("*RUE\\_NAME*\n\tsets the option of that name, in capitals and with underscores. A flag on the "
           "command "
           "line wins over it, and it wins over *" RUE_SETTINGS_FILE
           "*. Options that are marked so are set by flags alone.\n\n"
           "*COLUMNS*\n\tis the width of what is printed, instead of the terminal's.\n\n"
           "*NO\\_COLOR*\n\tswitches colour off, as *TERM=dumb* does.\n\n"
           "*LC\\_ALL*, *LC\\_CTYPE*, *LANG*\n\tOnly ASCII is printed unless they name a UTF-8 locale.\n");
}

static void put_files(void)
{
    put_section("FILES");
    printf("*" RUE_SETTINGS_FILE
           "*\n\tin the current folder: one JSON object whose keys are names of options, of at most 1 MiB. "
           "As a folder may come from somebody else, it starts no program, chooses no place to write to, and "
           "replaces and discards nothing: options that do are an error in it.\n\n");
    printf("*rue-out/*_DATA_*/*\n\twhat a tuning run writes, unless *\\-\\-out* names another folder, and "
           "*rue analyze "
           "\\-\\-study* into the folder that it names:\n\n");
    for (size_t i = 0; rue_reports[i]; i++)
        if (rue_reports[i]->file) printf("\t- %s\n", rue_reports[i]->file);
    printf("\t- study.db, every trial in SQLite; the command, run again, goes on from there\n");
}

static void put_exit_codes(void)
{
    static const struct {
        int code;
        const char *text;
    } statuses[] = {
#define X(name, exit_code, text) {exit_code, text},
        RUE_STATUS_MAP(X)
#undef X
    };
    put_section("EXIT STATUS");
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        bool first = i == 0 || statuses[i].code != statuses[i - 1].code;
        bool last = i + 1 == sizeof statuses / sizeof *statuses || statuses[i + 1].code != statuses[i].code;
        if (first) printf("*%d*\n\t", statuses[i].code);
        printf("%s%s%s", first ? "" : ", ", statuses[i].text, last ? "\n\n" : "");
    }
    printf("*%d*\n\tthe reader of the output is gone\n", RUE_EXIT_READER_GONE);
}

static void put_examples(void)
{
    put_section("EXAMPLES");
    printf("```\n");
    for (size_t c = 0; rue_commands[c]; c++) put_details(rue_commands[c], true);
    printf("```\n");
}

int main(void)
{
    printf("rue(1) \"rue %s\" \"User commands\"\n\n# NAME\n\n"
           "rue - finds the data loader configuration that is good for all your models, by regret\n",
           RUE_VERSION);
    put_synopsis();
    put_section("DESCRIPTION");
    printf(
        "*rue tune* runs short trials of a simulated inference loop over batch sizes, worker counts and the "
        "other "
        "knobs of a data loader, on your data and for your models. The regret of a configuration is how much "
        "more "
        "time than the best one it takes; what has the least mean regret over all models is recommended, and "
        "written as JSON that a job can load.\n");
    put_commands();
    put_models();
    put_formats();
    put_environment();
    put_files();
    put_exit_codes();
    put_examples();
    put_section("SEE ALSO");
    printf("*bash*(1), *zshall*(1)\n");
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
