# corpus_csv.sh RUE FOLDER: lists as programs write them.
printf 'path,label\na.jpg,1\n"b, ""c"".jpg",2\n' >"$2/plain"
printf '\xef\xbb\xbfpath,label,class\r\n"a\r\nb.jpg",0,x\r\n\r\n,,\r\n' >"$2/crlf"
printf 'a\rb\r"c' >"$2/cr"
