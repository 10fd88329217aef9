#!/usr/bin/env bash
# cc.sh WORD...: the C compiler of wheels. gcc compiles. zig (ziglang of PyPI) links against the functions of glibc 2.28, and takes
# all other libraries from their archives: what it links runs on every Linux of manylinux_2_28. The archives that were used are
# added to the file RUE_ARCHIVES.
set -euo pipefail

linked=no
for word; do
    case $word in
        -c | -E | -S) exec gcc "$@" ;;
        *.o) linked=yes ;;
    esac
done
[ $linked = yes ] || exec gcc "$@"

archive() { gcc -print-file-name="lib$1.a"; }

words=() kind=-pie defined=()
for word; do
    case $word in
        -shared) kind=-fPIC defined=(-DRUE_SHARED_OBJECT) ;;
        -lm | -ldl | -lpthread) ;;
        -l*) word=$(archive "${word#-l}") ;;
        */lib*.so) word=${word%.so}.a ;;
        -L* | -Wl,-rpath,*) continue ;;
    esac
    words+=("$word")
done
for name in lz4 lzma bz2 snappy stdc++ gcc; do
    words+=("$(archive $name)")
done
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
gcc -O2 -fPIC -D_GNU_SOURCE -Wall -Wextra "${defined[@]}" -c "$(dirname "${BASH_SOURCE[0]}")/old_glibc.c" -o "$made/old_glibc.o"
python3 -m ziglang cc -target "$(uname -m)-linux-gnu.2.28" $kind "${words[@]}" "$made/old_glibc.o" -lunwind -lm -lpthread -ldl -O2 \
    -Wl,--gc-sections,--print-map >"$made/map"
grep -oE '/[^ ]*/lib[^ ]*\.a\(' "$made/map" | sort -u | sed 's/($//' >>"${RUE_ARCHIVES:-/dev/null}"
