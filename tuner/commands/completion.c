#include "completion.h"

#include <stdbool.h>

#include "catalogue.h"
#include "commands.h"
#include "help.h"

static void put_words(const char *const *words, const char *between, FILE *out)
{
    for (size_t i = 0; words && words[i]; i++) fprintf(out, "%s%s", i ? between : "", words[i]);
}

static void put_models(FILE *out)
{
    for (size_t i = 0; i < rue_catalogue_count(); i++) fprintf(out, "%s ", rue_catalogue_name(i));
    fprintf(out, "none");
}

static void put_commands(FILE *out)
{
    for (size_t c = 0; rue_commands[c]; c++) fprintf(out, "%s ", rue_commands[c]->name);
    fprintf(out, "help");
}

/* ---- bash ---- */

/* What may stand behind an option: kind, then the words. */
static void put_bash_option(const struct rue_command *command, const struct rue_option *option, FILE *out)
{
    static const char *const how[] = {
        [RUE_OPTION_WORD] = "word",   [RUE_OPTION_LIST] = "list",      [RUE_OPTION_SETTINGS] = "list",
        [RUE_OPTION_MODELS] = "list", [RUE_OPTION_PATH] = "path",      [RUE_OPTION_COMMAND] = "path",
        [RUE_OPTION_TEXT] = "any",    [RUE_OPTION_COUNT] = "any",      [RUE_OPTION_DURATION] = "any",
        [RUE_OPTION_BUDGET] = "any",  [RUE_OPTION_PERCENTAGE] = "any", [RUE_OPTION_BYTES] = "any"};
    if (option->kind == RUE_OPTION_FLAG) return;
    fprintf(out, "    %s:--%s) echo '%s ", command->name, option->name, how[option->kind]);
    if (option->kind == RUE_OPTION_MODELS)
        put_models(out);
    else
        put_words(option->words, " ", out);
    fprintf(out, "' ;;\n");
}

static void put_bash_tables(FILE *out)
{
    fprintf(out, "# The options of a command.\n_rue_options() {\n    case $1 in\n");
    for (size_t c = 0; rue_commands[c]; c++) {
        fprintf(out, "    %s) echo '", rue_commands[c]->name);
        for (size_t i = 0; i < rue_commands[c]->option_count; i++)
            fprintf(out, "--%s ", rue_commands[c]->options[i].name);
        fprintf(out, "--help' ;;\n");
    }
    fprintf(out, "    esac\n}\n\n# What follows an option (nothing: it is a flag), or is an argument: a "
                 "kind, and words.\n"
                 "_rue_values() {\n    case $1 in\n");
    for (size_t c = 0; rue_commands[c]; c++) {
        const struct rue_command *command = rue_commands[c];
        for (size_t i = 0; i < command->option_count; i++)
            put_bash_option(command, &command->options[i], out);
        fprintf(out, "    %s:argument) echo '%s ", command->name,
                command->argument_words  ? "word"
                : command->max_arguments ? "path"
                                         : "any");
        put_words(command->argument_words, " ", out);
        fprintf(out, "' ;;\n");
    }
    fprintf(out, "    help:argument) echo 'word ");
    put_commands(out);
    fprintf(out, "' ;;\n    esac\n}\n\n");
}

static const char bash_function[] =
    "# Fills COMPREPLY for the word $1: of the kind $2, from the words that follow.\n"
    "_rue_reply() {\n"
    "    local cur=$1 kind=$2 before= word\n"
    "    shift 2\n"
    "    case $kind in\n"
    "    path)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "        return ;;\n"
    "    list)\n"
    "        compopt -o nospace 2>/dev/null\n"
    "        [[ $cur == *,* ]] && before=${cur%,*},\n"
    "        cur=${cur##*,} ;;\n"
    "    esac\n"
    "    for word in \"$@\"; do\n"
    "        [[ $word == \"$cur\"* && ,$before != *,\"$word\",* ]] && COMPREPLY+=(\"$before$word\")\n"
    "    done\n"
    "}\n\n"
    "_rue() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= i values\n"
    "    COMPREPLY=()\n"
    "    # Bash may split words at '='.\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=\n"
    "    elif [[ $prev == = ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        _rue_reply \"$cur\" word $(_rue_commands)\n"
    "        return\n"
    "    fi\n"
    "    command=${COMP_WORDS[1]}\n"
    "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "        if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
    "            values=$(_rue_values \"$command:argument\")\n"
    "            _rue_reply \"$cur\" ${values:-any}\n"
    "            return\n"
    "        fi\n"
    "    done\n"
    "    values=$(_rue_values \"$command:${prev//_/-}\")\n"
    "    if [[ $values ]]; then\n"
    "        _rue_reply \"$cur\" $values\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        _rue_reply \"$cur\" word $(_rue_options \"$command\")\n"
    "    else\n"
    "        values=$(_rue_values \"$command:argument\")\n"
    "        _rue_reply \"$cur\" ${values:-any}\n"
    "    fi\n"
    "}\n\n"
    "complete -F _rue rue\n";

void rue_completion_bash(FILE *out)
{
    fprintf(out, "# bash completion for rue %s, made from its tables by 'rue completion bash'\n\n",
            RUE_VERSION);
    fprintf(out, "_rue_commands() {\n    echo '");
    put_commands(out);
    fputc(' ', out);
    put_words(rue_program_options, " ", out);
    fprintf(out, "'\n}\n\n");
    put_bash_tables(out);
    fputs(bash_function, out);
}

/* ---- zsh ---- */

/* Text inside single quotes, where _arguments gives brackets, colons and backslashes a meaning. */
static void put_zsh(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (*text == '[' || *text == ']' || *text == ':' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

/* What _arguments calls for a value: words, files, a list of words, or nothing. */
static void put_zsh_action(enum rue_option_kind kind, const char *const *words, FILE *out)
{
    if (kind == RUE_OPTION_PATH || kind == RUE_OPTION_COMMAND) {
        fputs("_files", out);
    } else if (kind == RUE_OPTION_WORD) {
        fputc('(', out);
        put_words(words, " ", out);
        fputc(')', out);
    } else if (kind == RUE_OPTION_MODELS || (kind == RUE_OPTION_LIST && words)) {
        fputs("_sequence compadd - ", out);
        if (words)
            put_words(words, " ", out);
        else
            put_models(out);
    } else {
        fputc(' ', out);
    }
}

static void put_zsh_command(const struct rue_command *command, FILE *out)
{
    fprintf(out, "    (%s)\n        _arguments -S", command->name);
    for (size_t i = 0; i < command->option_count; i++) {
        const struct rue_option *option = &command->options[i];
        bool flag = option->kind == RUE_OPTION_FLAG;
        fprintf(out, " \\\n            '--%s%s[", option->name, flag ? "" : "=");
        put_zsh(option->help, out);
        fputc(']', out);
        if (!flag) {
            fputc(':', out);
            put_zsh(option->argument, out);
            fputc(':', out);
            put_zsh_action(option->kind, option->words, out);
        }
        fputc('\'', out);
    }
    fprintf(out, " \\\n            '(- *)--help[" RUE_HELP_TEXT "]'");
    if (command->max_arguments) {
        fprintf(out, " \\\n            '*:");
        put_zsh(command->arguments, out);
        fputc(':', out);
        put_zsh_action(command->argument_words ? RUE_OPTION_WORD : RUE_OPTION_PATH, command->argument_words,
                       out);
        fputc('\'', out);
    }
    fprintf(out, " ;;\n");
}

void rue_completion_zsh(FILE *out)
{
    fprintf(out,
            "#compdef rue\n# zsh completion for rue %s, made from its tables by 'rue completion zsh'\n\n"
            "_rue() {\n    local context state state_descr line\n    typeset -A opt_args\n"
            "    local -a commands=(\n",
            RUE_VERSION);
    for (size_t c = 0; rue_commands[c]; c++) {
        fprintf(out, "        '%s:", rue_commands[c]->name);
        put_zsh(rue_commands[c]->summary, out);
        fprintf(out, "'\n");
    }
    fprintf(out,
            "        'help:Tell about a command.'\n    )\n"
            "    _arguments -C '(- *)--help[" RUE_HELP_TEXT "]' '(- *)--version[print the version]' \\\n"
            "        '1:command:->command' '*::argument:->argument'\n"
            "    case $state in\n    (command) _describe command commands; return ;;\n    (argument) ;;\n"
            "    (*) return ;;\n    esac\n    case $words[1] in\n");
    for (size_t c = 0; rue_commands[c]; c++) put_zsh_command(rue_commands[c], out);
    fprintf(out, "    (help)\n        _describe command commands ;;\n    esac\n}\n\n"
                 "if [ \"$funcstack[1]\" = _rue ]; then _rue \"$@\"; else compdef _rue rue; fi\n");
}
