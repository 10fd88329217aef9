# corpus_join.sh RUE FOLDER: lines of ranks, one with the right token.
join() {
    echo "{\"op\":\"join\",\"protocol\":\"rue.rank/1\",\"token\":\"$1\",\"rank\":$2,\"world_size\":$3,\"local_rank\":$4,\"node\":\"$5\"}"
}
join 0123456789abcdef0123456789abcdef 3 8 1 node7.example-net_1 >"$2/right"
join 0123456789abcdef 0 1 0 n >"$2/short"
join 0123456789abcdef0123456789abcdef 1023 1024 1023 n >"$2/largest"
join 0123456789abcdef0123456789abcdef 9 1 0 'n","wrong":"RANK=9' >"$2/wrong"
