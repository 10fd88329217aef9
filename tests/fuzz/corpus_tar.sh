# corpus_tar.sh RUE FOLDER: shards of three small images, in each way in which they can be written.
photos=$(mktemp -d)
trap 'rm -rf "$photos"' EXIT
mkdir -p "$photos/set/one" "$photos/set/two"
for name in one/a one/b.c two/d; do printf 'not a JPEG, but as good to a tar file' >"$photos/set/$name.jpg"; done
for how in none gzip zstd lz4; do
    "$1" prepare "$photos/set" "$photos/$how" --format webdataset --compress $how --quiet || exit 1
    cp "$photos/$how"/train-* "$2/"
done
for kind in gnu posix; do
    long=$photos/$(printf 'x%.0s' {1..120})
    printf 'abc' >"$long.jpg" && printf '{"label": 3}' >"$long.json"
    tar -C "$photos" --format=$kind -cf "$2/$kind.tar" "$(basename "$long.jpg")" "$(basename "$long.json")" || exit 1
done
