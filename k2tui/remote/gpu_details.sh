# gpu_details: topology, link traffic and memory errors of this node's GPUs, asked of nvidia-smi. Changes nothing.
#   section NAME, line ..., end CODE      one after the other, each with a time limit; 127: no nvidia-smi
# After one that hangs nothing more is asked: a second nvidia-smi would hang as well.
export LC_ALL=C PATH="$PATH:/usr/bin:/bin:/usr/local/bin:/usr/local/nvidia/bin:/usr/lib/wsl/lib"
limit=
command -v timeout >/dev/null 2>&1 && limit='timeout -s KILL 8'

section() { # NAME WORDS...
  name=$1
  shift
  echo "section $name"
  { $limit nvidia-smi "$@" 2>&1 </dev/null; echo "@code $?"; } | {
    code=127
    while IFS= read -r line; do
      case $line in
        '@code '*) code=${line#@code } ;;
        *) printf 'line %s\n' "$line" ;;
      esac
    done
    echo "end $code"
    case $code in 124 | 127 | 137) exit 1 ;; esac
  }
}

section topology topo -m || exit 0
section pcie dmon -s t -c 1 || exit 0
section links nvlink -s || exit 0
section link_errors nvlink -e || exit 0
section ecc --query-gpu=index,ecc.errors.corrected.volatile.total,ecc.errors.uncorrected.volatile.total,ecc.errors.uncorrected.aggregate.total \
  --format=csv,noheader,nounits || exit 0
section rows --query-remapped-rows=gpu_bus_id,remapped_rows.correctable,remapped_rows.uncorrectable,remapped_rows.pending,remapped_rows.failure \
  --format=csv,noheader,nounits || exit 0
