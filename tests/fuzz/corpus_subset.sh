# corpus_subset.sh RUE FOLDER: subsets as people write them; after "@" the lines of a file.
printf '0:100:3,5,200:' >"$2/numbers"
printf '10%%:20.5%%,seed=7' >"$2/share"
printf 'class:cat,5,dog' >"$2/classes"
printf '@3\r\n17\n\n5\n' >"$2/lines"
printf '@cat/3\n./7.jpg\n12\n' >"$2/names"
