# corpus_lmdb.sh RUE FOLDER: small LMDBs, of files and of tensors.
photos=$(mktemp -d)
trap 'rm -rf "$photos"' EXIT
mkdir -p "$photos/set/one" "$photos/set/two"
head -c 100 /dev/zero >"$photos/zeros"
for name in one/a one/b.c two/d; do printf '\xff\xd8 not a JPEG, but as good to an LMDB' | cat - "$photos/zeros" >"$photos/set/$name.jpg"; done
"$1" prepare "$photos/set" "$2/three.mdb" --quiet || exit 1
for number in $(seq 100); do cp "$photos/set/one/a.jpg" "$photos/set/two/$number.jpg"; done
"$1" prepare "$photos/set" "$2/many.mdb" --quiet || exit 1
"$1" prepare --synthetic 2 "$photos/real" --quiet || exit 1
"$1" prepare "$photos/real" "$2/tensors.mdb" --mode preprocessed --dtype uint8 --quiet
