#!/bin/sh
# manual.sh RUE: prints the manual, rue(1): what 'rue help' and 'rue help COMMAND' print.
rue=$1
export COLUMNS=70 LC_ALL=C PATH="$(dirname "$rue"):$PATH" # so that its name is "rue"

# What is a blank line or begins with a dot or an apostrophe would be a request, and a backslash an escape.
plain() {
    echo .nf
    sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"
    echo .fi
}

echo ".TH RUE 1 \"\" \"$("$rue" --version)\" \"User commands\""
echo '.SH NAME
rue \- finds the data loader configuration that is good for all your models
.SH SYNOPSIS'
"$rue" help | plain
for command in $("$rue" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    echo ".SH rue $command"
    "$rue" help "$command" | plain
done
