#!/usr/bin/env bash
# Checks on a machine with a GPU: builds for that GPU, compares products and normalised levels with the CPU's, has
# compute-sanitizer look on, tells flop/s and overlap, makes a recommendation with real kernels, checks rue_tuner.Loader
# with PyTorch, and says how alike the GPU and its sleeping twin rank configurations. Where there is no GPU it says why it
# is skipped. Ends with 1 where a check failed. It should end in 4 minutes on 16 CPUs; each check prints its time.
#
# Needs the CUDA toolkit and gcc. rue itself is built where its libraries are; else RUE_PROGRAM names one that is built.
# RUE_TUNE_BUDGET (30s) is for each recommendation.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."

skip() { echo "skipped: $1"; exit 0; }

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || skip "there is no nvcc here: the CUDA toolkit is not installed"
gpus=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null) || skip "there is no NVIDIA GPU here that nvidia-smi tells of"
architecture=$(head -n 1 <<<"$gpus" | tr -d '. ')
[ -n "$architecture" ] || skip "there is no NVIDIA GPU here that nvidia-smi tells of"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
check() { # check NAME COMMAND...
    local name=$1 start=$SECONDS word=ok
    shift
    echo "== $name"
    "$@" || { word=FAILED; failed=$((failed + 1)); }
    echo "$name: $word, $((SECONDS - start)) s"
}

rue=${RUE_PROGRAM:-} budget=${RUE_TUNE_BUDGET:-30s}
unset RUE_PROGRAM RUE_TUNE_BUDGET # which are no settings of rue's
build_rue() { cmake --preset release -Wno-dev && cmake --build --preset release --target rue rue_python; }
[ -n "$rue" ] || build_rue >"$folder/log" 2>&1 & # beside nvcc, which uses one CPU
rue_build=$!

module=$folder/rue_cuda.so figures=$folder/cuda_figures
build_module() {
    "$nvcc" -O3 -std=c++17 -arch="sm_$architecture" -shared -Xcompiler -fPIC,-fvisibility=hidden -cudart static \
        -Imodels -Itests/fixtures tests/fixtures/cuda_test_module.cu -o "$module" -ldl
}
build_figures() {
    gcc -std=gnu17 -O2 -D_GNU_SOURCE -Itests/fixtures -Imodels -Iengine/include/rue -Iengine/base -Iengine/decode -Iengine/load -Iengine/machine -Iengine/read -Iengine/trial tests/gpu/cuda_figures.c \
        models/cuda_plan.c models/architecture*.c models/device.c engine/base/{error,status,advice,units,variant}.c -o "$figures" -lm -ldl
}
check "building for sm_$architecture" build_module
check "building the checks" build_figures
if wait $rue_build; then rue=${rue:-build/release/rue}; fi # before anything is timed
[ $failed -eq 0 ] || exit 1

check "products against the CPU" "$figures" "$module" products
check "levels against the CPU" "$figures" "$module" images
check "memory that there is not" "$figures" "$module" memory
check "speed and overlap" "$figures" "$module" speed

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
if [ -n "$sanitizer" ]; then
    check "compute-sanitizer memcheck: products" "$sanitizer" --tool memcheck --error-exitcode 9 "$figures" "$module" products
    # racecheck reports hazards inside cuBLASLt's kernels nvjet_*, which are NVIDIA's. All others are checked.
    check "compute-sanitizer racecheck: products" "$sanitizer" --tool racecheck --kernel-name-exclude kns=nvjet_ --error-exitcode 9 \
        "$figures" "$module" products
    check "compute-sanitizer memcheck: levels" "$sanitizer" --tool memcheck --error-exitcode 9 "$figures" "$module" images
else
    echo "compute-sanitizer: skipped: it is not installed"
fi

if [ -z "$rue" ]; then
    echo "a trial, a recommendation, rank agreement: skipped: rue cannot be built here ($(grep -m 1 -iE 'error|not found' "$folder/log")); name one with RUE_PROGRAM"
    exit $((failed > 0))
fi
export RUE_CUDA_MODULE=$module
"$rue" prepare --synthetic 1024 "$folder/photos" --quiet || exit 1

short_trial() {
    local ask
    ask='{"op":"trial","id":1,"measure":"joint","model":"resnet18@cuda:bf16","images":40,"job_images":40,"config":{"batch_size":16,"num_workers":2},"variant":{"path":"'$folder'/photos","mode":"raw","format":"folder"}}'
    echo "$ask" | "$@" "$rue" runner | tee "$folder/answer"
    grep -q '"status": *"ok"' "$folder/answer"
}
check "a trial" short_trial
[ -z "$sanitizer" ] || check "compute-sanitizer: a trial" short_trial "$sanitizer" --target-processes all --error-exitcode 9
check "a recommendation with real kernels" "$rue" tune "$folder/photos" --model resnet18,resnet50,vit_b_16 --device cuda:bf16 \
    --batch-size 32,128,256 --budget "$budget" --out "$folder/out" --quiet
check "where batches lie" "$rue" tune "$folder/photos" --model resnet18 --device cuda:bf16 --pin-memory true,false \
    --batch-size 32,128 --num-workers 2,8 --budget "$budget" --out "$folder/pinned" --quiet
check "Loader in Python" env RUE_LOADER="$(dirname "$rue")/_rue_loader.so" python3 tests/gpu/loader_cuda.py "$rue"
check "rank agreement with the sleeping twin" python3 tests/gpu/rank_agreement.py "$rue" "$folder/photos"
echo "$failed failed, $SECONDS s"
[ $failed -eq 0 ]
