# corpus_tfrecord.sh RUE FOLDER: small files of TFRecords, plain and compressed.
photos=$(mktemp -d)
trap 'rm -rf "$photos"' EXIT
mkdir -p "$photos/set/one" "$photos/set/two"
for name in one/a one/b.c two/d; do printf 'not a JPEG, but as good to a record' >"$photos/set/$name.jpg"; done
for how in none gzip; do
    "$1" prepare "$photos/set" "$photos/$how" --format tfrecord --compress $how --quiet || exit 1
    cp "$photos/$how"/train-* "$2/"
done
