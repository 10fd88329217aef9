# corpus_jpeg.sh RUE FOLDER: small ones of each kind.
make=build/fuzz/tests/fuzz/make_jpeg
number=0
while read -r words; do
    number=$((number + 1))
    # shellcheck disable=SC2086
    "$make" width=80 height=64 $words >"$2/$number.jpg" || exit 1
done <<'END'
quality=60
colours=grey
progressive=1
arithmetic=1
colours=ycck
colours=cmyk
colours=rgb
sampling=2x2,1x1,1x1
sampling=2x1,1x1,1x1 restart=2
sampling=1x1,1x1,1x1 quality=98 optimize=1
sampling=4x1,1x1,1x1
sampling=1x2,1x1,1x1
colours=grey restart=3
optimize=1
END
