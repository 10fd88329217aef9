#!/bin/sh
# manual.sh RUE: prints the manual, rue(1): what the --help of each command prints, and what belongs to no single command.
rue=$1
export COLUMNS=70 LC_ALL=C

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
"$rue" --help | plain
for command in $("$rue" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    echo ".SH rue $command"
    "$rue" help "$command" | plain
done
cat <<'END'
.SH ENVIRONMENT
.TP
.B RUE_NAME
sets the option of that name, in capitals and with underscores (RUE_BATCH_SIZE).
A flag overrides it, and it overrides rue.json.
.TP
.B COLUMNS
is the width of the output, instead of the terminal's.
.TP
.B NO_COLOR
switches colour off, as TERM=dumb does.
.TP
.B LC_ALL, LC_CTYPE, LANG
Only ASCII is printed unless they name a UTF-8 locale.
.SH FILES
.TP
.B rue.json
in the current folder: a JSON object whose keys are names of options.
It cannot start a program, choose where to write, or replace anything.
.TP
.B rue-out/DATA/
what a tuning run writes: recommendation.json, trials.csv, and study.db, from which the same command continues.
.SH EXIT STATUS
0 done; 1 internal, out of memory or the runner failed; 2 usage; 3 data unreadable; 4 nothing feasible; 5 inconclusive;
6 store or disk; 130 interrupted; 141 the reader of the output is gone; 143 terminated.
END
