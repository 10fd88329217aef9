#!/usr/bin/env bash
# Tunes the loader with mpirun of Open MPI, then trains with the result. In this folder, with 8 ranks on the hosts of a file:
#
#   ./tune_then_train.sh /data/photos 8 --hostfile hosts
#
# All hosts need the data, rue, and Python with rue_tuner and PyTorch. If it runs again, it continues the study.
set -euo pipefail

data=$1 count=$2
shift 2
out=${RUE_OUT:-rue-out/tuned-$count}
# By default, mpirun gives a rank one core, which all workers of its loader would share.
ranks=(mpirun -n "$count" --bind-to none "$@")
host=$(hostname)

rue tune "$data" --mode raw --launch "${ranks[*]}" --listen "$host" --runner "python3 -m rue_tuner.runner" \
    --budget "${RUE_BUDGET:-10m}" --out "$out" || [ $? -eq 5 ]  # not decided: train with the best guess
"${ranks[@]}" -x MASTER_ADDR="$host" -x MASTER_PORT="${MASTER_PORT:-29500}" python3 train.py "$data" "$out/recommendation.json"
