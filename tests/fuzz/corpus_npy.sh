# corpus_npy.sh RUE FOLDER: the headers of the two types of values, and one of another writer.
set=$(mktemp -d)
trap 'rm -rf "$set"' EXIT
"$1" prepare --synthetic 1 "$set/photos" --quiet || exit 1
for dtype in float32 uint8; do
    "$1" prepare "$set/photos" "$set/$dtype" --format webdataset --mode preprocessed --dtype $dtype --quiet || exit 1
    tail -c +513 "$set/$dtype/train-000000.tar" | head -c 160 >"$2/$dtype.npy"
done
printf '\x93NUMPY\1\0\x40\0{"shape":(1,3,2L,2,),"fortran_order":True,\t"descr":"=e"}       \n' >"$2/other.npy"
