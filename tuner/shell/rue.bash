# Completion for bash: commands, options and files, read from the help of the rue that is typed.
_rue() {
    local typed=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} offers=""
    if ((COMP_CWORD == 1)) || [[ $command == help ]]; then
        offers="$("$1" --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p') help --help --version"
    elif [[ $typed == -* ]]; then
        offers=$("$1" "$command" --help 2>/dev/null | sed -n 's/^  \(--[a-z-]*\).*/\1/p')
    fi
    mapfile -t COMPREPLY < <(compgen -W "$offers" -- "$typed")
}

# Where nothing of it fits, bash offers files.
complete -o default -F _rue rue
