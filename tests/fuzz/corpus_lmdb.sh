# corpus_lmdb.sh RUE FOLDER: small LMDBs of rue's own layout.
photos=$(mktemp -d)
trap 'rm -rf "$photos"' EXIT
mkdir -p "$photos/set/one" "$photos/set/two"
for name in one/a one/b.c two/d; do printf 'not a JPEG, but as good to an LMDB' >"$photos/set/$name.jpg"; done
"$1" prepare "$photos/set" "$2/three.mdb" --quiet || exit 1
for number in $(seq 100); do printf 'image %d' "$number" >"$photos/set/two/$number.jpg"; done
"$1" prepare "$photos/set" "$2/many.mdb" --quiet
