# corpus_baseline.sh RUE FOLDER
. tests/fuzz/corpus_jpeg.sh
