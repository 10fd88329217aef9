/* Completion for shells: small scripts that ask `rue completion offer -- WORD...`, the last word with a dot
 * behind it, as no argument is empty. It answers from the tables of the commands and of the models: a line
 * for the script ("words", "list" or "files"), then what that word may become, each with a tab and its help
 * behind it. */
#include "commands.h"

#include <limits.h>
#include <string.h>

#include "catalogue.h"
#include "help.h"
#include "suggest.h"

static const char bash_script[] =
    "# bash completion for rue, printed by 'rue completion bash'\n"
    "_rue() {\n"
    "    local typed=(\"${COMP_WORDS[@]:1:COMP_CWORD}\") cur=${COMP_WORDS[COMP_CWORD]#=} kind\n"
    "    typed[-1]+=.\n"
    "    mapfile -t COMPREPLY < <(command \"${COMP_WORDS[0]}\" completion offer -- \"${typed[@]}\" "
    "2>/dev/null)\n"
    "    kind=${COMPREPLY[0]-}\n"
    "    COMPREPLY=(\"${COMPREPLY[@]:1}\")\n"
    "    COMPREPLY=(\"${COMPREPLY[@]%%$'\\t'*}\")\n"
    "    case $kind in\n"
    "    list) compopt -o nospace 2>/dev/null ;;\n"
    "    files)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
    "    esac\n"
    "}\n\n"
    "complete -F _rue rue\n";

static const char zsh_script[] =
    "#compdef rue\n"
    "# zsh completion for rue, printed by 'rue completion zsh'\n"
    "_rue() {\n"
    "    local -a typed=(\"${(@Q)words[2,CURRENT]}\") offered\n"
    "    if [[ $typed[-1] == --*=* ]]; then\n"
    "        typed[-1]=(\"${typed[-1]%%=*}\" = \"${typed[-1]#*=}\")\n"
    "        compset -P '*='\n"
    "    fi\n"
    "    typed[-1]+=.\n"
    "    offered=(\"${(@f)$(command $words[1] completion offer -- \"${(@)typed}\" 2>/dev/null)}\")\n"
    "    case $offered[1] in\n"
    "    (files) _files ;;\n"
    "    (list) compadd -S '' -- \"${(@)offered[2,-1]%%$'\\t'*}\" ;;\n"
    "    (words)\n"
    "        offered=(\"${(@)offered[2,-1]//:/\\\\:}\")\n"
    "        offered=(\"${(@)offered/$'\\t'/:}\")\n"
    "        _describe rue offered ;;\n"
    "    esac\n"
    "}\n\n"
    "if [ \"$funcstack[1]\" = _rue ]; then _rue \"$@\"; else compdef _rue rue; fi\n";

static const struct shell {
    const char *name, *script;
} shells[] = {{"bash", bash_script}, {"zsh", zsh_script}};
enum { SHELLS = sizeof shells / sizeof *shells };

static const char *const shell_names[SHELLS + 1] = {"bash", "zsh", NULL};

/* ---- offers ---- */

/* Whether the list that ends before `end` has the word already. */
static bool is_listed(const char *list, const char *end, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at < end; at += strcspn(at, ",") + 1)
        if (strncmp(at, word, length) == 0 && at[length] == ',') return true;
    return false;
}

/* The word, where it begins with what is `typed`, or with what is behind the last comma there. */
static void offer_word(const char *typed, const char *word, const char *help)
{
    const char *comma = strrchr(typed, ','), *begun = comma ? comma + 1 : typed;
    if (strncmp(word, begun, strlen(begun)) != 0 || is_listed(typed, begun, word)) return;
    printf("%.*s%s\t%s\n", (int)(begun - typed), typed, word, help);
}

static void offer_words(const char *typed, const char *const *words)
{
    for (; words && *words; words++) offer_word(typed, *words, "");
}

static void offer_commands(const char *typed)
{
    printf("words\n");
    for (size_t c = 0; rue_commands[c]; c++)
        offer_word(typed, rue_commands[c]->name, rue_commands[c]->summary);
}

static void offer_options(const struct rue_command *command, const char *typed)
{
    char name[64];
    printf("words\n");
    for (size_t i = 0; i < command->option_count; i++) {
        snprintf(name, sizeof name, "--%s", command->options[i].name);
        offer_word(typed, name, command->options[i].help);
    }
    offer_word(typed, "--help", RUE_HELP_TEXT);
}

static void offer_values(const struct rue_option *option, const char *typed)
{
    bool file = option->kind == RUE_OPTION_PATH || option->kind == RUE_OPTION_COMMAND;
    printf("%s\n", file ? "files" : option->kind == RUE_OPTION_WORD ? "words" : "list");
    offer_words(typed, option->words);
    for (size_t i = 0; option->kind == RUE_OPTION_MODELS && i < rue_catalogue_count(); i++)
        offer_word(typed, rue_catalogue_name(i), "");
    if (option->kind == RUE_OPTION_MODELS) offer_word(typed, "none", "");
}

static void offer_arguments(const struct rue_command *command, const char *typed)
{
    printf("%s\n", command->argument_words || !command->max_arguments ? "words" : "files");
    offer_words(typed, command->argument_words);
}

/* The option that the word names, with underscores perhaps; NULL: none that a value follows. */
static const struct rue_option *find_option(const struct rue_command *command, const char *word)
{
    char name[64];
    snprintf(name, sizeof name, "%s", word);
    for (char *at = name; *at; at++)
        if (*at == '_') *at = '-';
    for (size_t i = 0; strncmp(name, "--", 2) == 0 && i < command->option_count; i++)
        if (strcmp(command->options[i].name, name + 2) == 0)
            return command->options[i].kind == RUE_OPTION_FLAG ? NULL : &command->options[i];
    return NULL;
}

/* What the last of `words` [count], which stand behind "rue", may become. Shells may split words at '='. */
static void offer(const char *const *words, int count)
{
    const struct rue_command *command;
    const char *before = count > 1 ? words[count - 2] : "";
    char typed[PATH_MAX];
    bool dashes = false;
    snprintf(typed, sizeof typed, "%.*s", (int)strlen(words[count - 1]) - 1, words[count - 1]);
    if (count == 1 || (count == 2 && strcmp(words[0], "help") == 0)) {
        offer_commands(typed);
        if (count == 1) offer_word(typed, "help", "Tell about a command.");
        if (count == 1) offer_words(typed, rue_program_options);
        return;
    }
    if (rue_commands_find(words[0], &command, NULL) != RUE_OK) return;
    if (strcmp(before, "=") == 0) before = words[count - 3];
    if (strcmp(typed, "=") == 0) typed[0] = 0;
    for (int i = 1; i < count - 1; i++) dashes |= strcmp(words[i], "--") == 0;
    const struct rue_option *option = dashes ? NULL : find_option(command, before);
    if (option)
        offer_values(option, typed);
    else if (typed[0] == '-' && !dashes)
        offer_options(command, typed);
    else
        offer_arguments(command, typed);
}

static rue_status run_completion(const struct rue_options *options, rue_error *error)
{
    const char *shell = rue_options_argument(options, 0);
    int count = rue_options_argument_count(options);
    if (strcmp(shell, "offer") == 0 && count > 1)
        return offer(rue_options_arguments(options) + 1, count - 1), RUE_OK;
    if (count > 1)
        return rue_fail(error, RUE_USAGE, "one argument too many: '%s'", rue_options_argument(options, 1));
    for (size_t i = 0; i < SHELLS; i++)
        if (strcmp(shell, shells[i].name) == 0) return fputs(shells[i].script, stdout), RUE_OK;
    char near[RUE_SUGGESTION_BYTES];
    return rue_fail(error, RUE_USAGE, "there is no completion for the shell '%s', only for bash and zsh%s",
                    shell, rue_did_you_mean(shell, shell_names, SHELLS, "", near));
}

const struct rue_command rue_command_completion = {
    .name = "completion",
    .arguments = "bash|zsh",
    .summary = "Print a script with which a shell completes rue's commands and options.",
    .details = "An installed rue has it in place; else load it from the shell's own start file.\n\n"
               "  eval \"$(rue completion bash)\"",
    .min_arguments = 1,
    .max_arguments = RUE_ARGUMENTS_MAX,
    .argument_words = shell_names,
    .run = run_completion,
};
