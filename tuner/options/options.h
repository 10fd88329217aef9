/* Options. The table of a subcommand determines parsing, bounds, help and the origin of each value.
 * Precedence: flag > RUE_<NAME> in the environment > rue.json in the current folder > the table's default.
 * All subcommands share rue.json, so options of the same name have the same kind, except those that only a
 * flag sets. */
#ifndef RUE_OPTIONS_H
#define RUE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "budget.h"
#include "error.h"
#include "report.h"

struct json_t;

#define RUE_SETTINGS_FILE "rue.json" /* in the current folder */

enum rue_option_kind {
    RUE_OPTION_FLAG,
    RUE_OPTION_TEXT,
    RUE_OPTION_LIST,       /* a text with commas, of `words` if there are any; the caller checks it */
    RUE_OPTION_SETTINGS,   /* NAME=LIST; may be repeated, or have several, separated by semicolons */
    RUE_OPTION_PATH,       /* a file or folder */
    RUE_OPTION_OUTPUT,     /* one to write, so "-" is refused */
    RUE_OPTION_COMMAND,    /* for a shell */
    RUE_OPTION_COUNT,      /* a whole number in [min, max]: "5000", "64k", "100M", "1e9" */
    RUE_OPTION_DURATION,   /* "2m", "300s" */
    RUE_OPTION_BUDGET,     /* "2m", "500trials" */
    RUE_OPTION_PERCENTAGE, /* "0.5%", in [min, max] */
    RUE_OPTION_BYTES,      /* "8G" */
    RUE_OPTION_WORD,       /* one of `words` */
};

/* What may set an option. A downloaded folder may contain a rue.json. So this must not start a program,
 * choose where to write, or replace or remove files. */
enum rue_option_setter {
    RUE_SET_BY_ALL,  /* a flag, the environment and rue.json */
    RUE_SET_BY_USER, /* a flag and the environment; in rue.json it is an error */
    RUE_SET_BY_FLAG, /* its name has another meaning in other commands, or its value in other processes */
};

/* The groups of options in help; the first has those that people need first. */
enum rue_option_group {
    RUE_GROUP_COMMON,
    RUE_GROUP_SPACE,
    RUE_GROUP_JOB,
    RUE_GROUP_BUDGET,
    RUE_GROUP_DATA,
    RUE_GROUP_ANSWER,
    RUE_GROUP_OUTPUT,
    RUE_GROUP_ADVANCED,
    RUE_GROUP_COUNT
};

struct rue_option {
    const char *name; /* long name, with '-' */
    enum rue_option_kind kind;
    const char *argument;     /* name of the value in help; NULL for a flag */
    const char *fallback;     /* NULL: unset */
    const char *help;         /* one line of `rue COMMAND --help` */
    uint64_t min, max;        /* of a count, or of a percentage in units of 0.01 %; both 0: no bounds */
    const char *const *words; /* of a word or a list, NULL at the end */
    enum rue_option_setter set_by;
    enum rue_option_group group;
    const char *more;  /* (optional) sentences that `rue help COMMAND` adds */
    const char *usual; /* (optional) what it means without a value, for rue_options_show */
};

enum { RUE_OPTIONS_MAX = 96, RUE_ARGUMENTS_MAX = 16, RUE_COMMAND_LINE_BYTES = 4096 };

struct rue_options;

struct rue_command {
    const char *name;
    const char *arguments; /* "[SRC] DST", "DATA...": those in brackets are optional */
    const char *summary;   /* one line */
    const char *details;   /* (optional) paragraphs, and examples that two spaces indent */
    const struct rue_option *options;
    size_t option_count;
    rue_status (*run)(const struct rue_options *options, rue_error *error);
};

/* Parses the command line after the subcommand's name. `*help`: --help was given, so nothing is checked.
 * RUE_USAGE names the option, the origin of its value, the fault, and a similar valid word. */
rue_status rue_options_parse(const struct rue_command *command, int argc, char **argv,
                             struct rue_options **out, bool *help, rue_error *error) RUE_MUST_CHECK;
void rue_options_close(struct rue_options *options);

/* Values by the option's name. They were checked while parsing, so these functions cannot fail. An option
 * that the command does not have is unset. */
const char *rue_options_text(const struct rue_options *options, const char *name); /* NULL when unset */
bool rue_options_flag(const struct rue_options *options, const char *name);
uint64_t rue_options_number(const struct rue_options *options,
                            const char *name); /* count, ns or bytes; 0 when unset */
struct rue_budget rue_options_budget(const struct rue_options *options, const char *name);
double rue_options_ratio(const struct rue_options *options, const char *name); /* of a percentage; 0: unset */
int rue_options_word(const struct rue_options *options, const char *name);     /* index in words; -1: unset */

/* The origin of the value: "--seed", "RUE_SEED", "rue.json", "default"; "" when unset. */
const char *rue_options_origin(const struct rue_options *options, const char *name);

/* Whether the option is on the command line. */
bool rue_options_given(const struct rue_options *options, const char *name);

int rue_options_argument_count(const struct rue_options *options);
const char *const *rue_options_arguments(const struct rue_options *options);

/* The command line, quoted for a shell: "rue tune 'my photos' --budget 5m"; a long one is truncated after a
 * whole word. */
const char *rue_options_command_line(const struct rue_options *options);

/* The text for an option that is not set. */
struct rue_unset {
    const char *name, *text;
};

/* Writes each value with its origin, one per line, for --dry-run. `unset` has the texts of options that are
 * not set, NULL name at the end. It may name options of other commands. Options that it does not name have
 * their usual text, or are skipped; flags are false. */
void rue_options_show(const struct rue_options *options, const struct rue_unset *unset,
                      const struct rue_report_style *style, FILE *out);

/* Reads the object in the settings file, or makes an empty one if there is no file. The caller frees it.
 * RUE_USAGE names the line, or says that it is not a regular file or too large. */
rue_status rue_settings_read(struct json_t **out, rue_error *error) RUE_MUST_CHECK;

/* The environment variable of the option: "RUE_BATCH_SIZE". */
void rue_option_variable(const struct rue_option *option, char *out, size_t bytes);

#endif
