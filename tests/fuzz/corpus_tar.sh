# corpus_tar.sh RUE FOLDER: shards of three small images, in each way in which they can be written.
photos=$(mktemp -d)
trap 'rm -rf "$photos"' EXIT
mkdir -p "$photos/set/one" "$photos/set/two"
for name in one/a one/b.c two/d; do printf 'not a JPEG, but as good to a tar file' >"$photos/set/$name.jpg"; done
"$1" prepare "$photos/set" "$photos/plain" --format webdataset --quiet || exit 1
cp "$photos/plain"/train-* "$2/"
gzip -c "$photos/plain/train-000000.tar" >"$2/train.tar.gz"
xz -c "$photos/plain/train-000000.tar" >"$2/train.tar.xz"
for kind in gnu posix; do
    long=$photos/$(printf 'x%.0s' {1..120})
    printf 'abc' >"$long.jpg" && printf '3' >"$long.cls"
    tar -C "$photos" --format=$kind -cf "$2/$kind.tar" "$(basename "$long.jpg")" "$(basename "$long.cls")" || exit 1
done
