# What the driver says of GPU memory; begin, supervise and remains have it behind runs.sh.

# k2_smi ARGS...: nvidia-smi, at most 10 s long, without a header or units.
k2_smi() { timeout -k 2 10 nvidia-smi "$@" --format=csv,noheader,nounits 2>&1 </dev/null; }

# k2_gpus: K2_GPUS = a line "INDEX UUID USED_MIB" for each GPU, K2_APPS = a line "UUID PID MIB" for each process that holds
# one. False when that can't be told; K2_NO_GPUS says why.
k2_gpus() {
  K2_GPUS='' K2_APPS='' K2_NO_GPUS=''
  for k2_need in nvidia-smi timeout; do
    command -v $k2_need >/dev/null 2>&1 || { K2_NO_GPUS="there is no $k2_need on the node"; return 1; }
  done
  K2_GPUS=$(k2_smi --query-gpu=index,uuid,memory.used) || {
    k2_status=$?
    case $k2_status in 124 | 137) K2_NO_GPUS='nvidia-smi gave no answer within 10 s' ;; *) K2_NO_GPUS="nvidia-smi: $K2_GPUS" ;; esac
    return 1
  }
  K2_APPS=$(k2_smi --query-compute-apps=gpu_uuid,pid,used_memory) || K2_APPS=
  K2_GPUS=$(printf '%s\n' "$K2_GPUS" | tr -d ',')
  K2_APPS=$(printf '%s\n' "$K2_APPS" | tr -d ',')
}

# k2_baseline GPUS FILE: a line "INDEX MIB" for each of these GPUs (all, when none is named): what it has in use that no
# process accounts for. FILE is the baseline of the run before: what is still held of that run is no baseline, so the
# smaller figure counts.
k2_baseline() {
  k2_gpus || return 0
  printf '%s\n' "$K2_GPUS" | while read -r k2_index k2_uuid k2_used; do
    case " $1 " in "  " | *" $k2_index "*) ;; *) continue ;; esac
    case $k2_index in '' | *[!0-9]*) continue ;; esac
    case $k2_used in '' | *[!0-9]*) continue ;; esac
    k2_held=$(printf '%s\n' "$K2_APPS" | while read -r k2_u _ k2_m; do
      [ "$k2_u" = "$k2_uuid" ] || continue
      case $k2_m in '' | *[!0-9]*) ;; *) echo "$k2_m" ;; esac
    done)
    for k2_m in $k2_held; do k2_used=$((k2_used - k2_m)); done
    [ $k2_used -ge 0 ] || k2_used=0
    while read -r k2_i k2_m; do
      [ "$k2_i" = "$k2_index" ] || continue
      case $k2_m in '' | *[!0-9]*) ;; *) [ "$k2_m" -ge $k2_used ] || k2_used=$k2_m ;; esac
    done 2>/dev/null <"$2"
    printf '%s %s\n' "$k2_index" $k2_used
  done
}
