# corpus_tfrecord.sh RUE FOLDER: small files of TFRecords, plain and compressed in two ways.
photos=$(mktemp -d)
trap 'rm -rf "$photos"' EXIT
mkdir -p "$photos/set/one" "$photos/set/two"
for name in one/a one/b.c two/d; do printf '\377\330 not a JPEG, but as good to a record' >"$photos/set/$name.jpg"; done
"$1" prepare "$photos/set" "$photos/plain" --format tfrecord --quiet || exit 1
cp "$photos/plain"/train-* "$2/"
gzip -c "$photos/plain/train-000000.tfrecord" >"$2/train.tfrecord.gz"
python3 -c 'import sys, zlib; sys.stdout.buffer.write(zlib.compress(sys.stdin.buffer.read()))' \
    <"$photos/plain/train-000000.tfrecord" >"$2/train.tfrecord.zlib"
