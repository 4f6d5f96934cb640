# remains RUNDIR PORT GPUS: one look at what a run left on the node. Changes nothing. Prints "key words" lines for
# core/remains.py: process, container, gpu, holder, no_gpus, port, shm, outside, k2end.
export LC_ALL=C
dir=$1 port=$2 gpus=$3
say() { printf '%s\n' "$*"; }
k2_read_state "$dir" || { say "absent $dir"; say k2end; exit 0; }

# Processes, dead leaders with living threads among them: such a one still gives its memory back.
k2_left "$dir"
ours=$K2_MEMBERS
[ -z "$K2_SUP" ] || ours="$S_SUP $ours"
for p in $ours; do
  k2_stat "$p" || continue
  state=$K2_STATE
  k2_command "$p"
  say "process $p $state $K2_COMMAND"
done
if [ "$S_BOOT" = "$K2_BOOT" ] && ! { k2_stat "$S_SUP" && [ "$K2_TICKS" != "$S_SUP_TICKS" ]; }; then
  for p in $(ps -o pid= -s "$S_SUP" 2>/dev/null); do
    k2_stat "$p" && [ "$K2_STATE" = Z ] && [ "$K2_SID" = "$S_SUP" ] || continue
    state=Z
    for thread in "/proc/$p/task"/*/stat; do
      read -r line <"$thread" || continue
      line=${line##*) }
      case ${line%% *} in Z | X) ;; *) state=${line%% *} ;; esac
    done 2>/dev/null
    say "process $p $state $(tr -d '\n' 2>/dev/null <"/proc/$p/comm")"
    ours="$ours $p"
  done
fi
if [ -n "$K2_CONTAINER" ]; then
  say "container $K2_CONTAINER"
  ours="$ours $(k2_docker top "$K2_CONTAINER" -o pid 2>/dev/null | grep -v '[^0-9 ]' | tr '\n' ' ')"
fi
k2_outside "$port"
for p in $K2_OUTSIDE; do
  k2_command "$p"
  say "outside $p $K2_COMMAND"
done
ours=" $ours $K2_OUTSIDE "

if k2_gpus; then
  while read -r index uuid used; do
    case " $gpus " in "  " | *" $index "*) ;; *) continue ;; esac
    base=-
    while read -r i mib; do [ "$i" != "$index" ] || base=$mib; done 2>/dev/null <"$dir/baseline"
    say "gpu $index $used $base"
    while read -r of p mib; do
      [ "$of" = "$uuid" ] || continue
      whose=foreign
      case $ours in *" $p "*) whose=ours ;; esac
      k2_command "$p"
      say "holder $index $p $mib $whose $K2_COMMAND"
    done <<HOLDERS
$K2_APPS
HOLDERS
  done <<GPUS
$K2_GPUS
GPUS
else
  say "no_gpus $(printf '%s' "$K2_NO_GPUS" | tr '\n' ' ' | cut -c 1-200)"
fi

if [ -n "$port" ] && k2_listener "$port"; then
  K2_COMMAND=
  [ -z "$K2_HOLDER" ] || k2_command "$K2_HOLDER"
  say "port ${K2_HOLDER:-0} $K2_COMMAND"
fi

# Shared memory of ours that no process has open or mapped. Only looked for and told.
open=
for file in /dev/shm/psm_* /dev/shm/nccl-* /dev/shm/sem.* /dev/shm/torch_*; do
  [ -f "$file" ] && [ -O "$file" ] || continue
  case ${file##*/} in *[!A-Za-z0-9._+=-]*) continue ;; esac
  # an open file is a link whose target ends its line of ls; a mapped one ends its line of maps
  [ -n "$open" ] || open=$(
    ls -l /proc/[0-9]*/fd 2>/dev/null | grep -F ' -> /dev/shm/'
    cat /proc/[0-9]*/maps 2>/dev/null | grep -F ' /dev/shm/' | sort -u
    echo end
  )
  if printf '%s\n' "$open" | grep -q " $file\$"; then continue; fi
  # shellcheck disable=SC2046 # the words of ls: the fifth is the size
  set -- $(ls -ln "$file" 2>/dev/null)
  [ $# -lt 5 ] || say "shm $5 ${file##*/}"
done
say k2end
