#!/bin/sh
# nvidia-smi as a demo node has it: a link bin/nvidia-smi in the node's directory points here.
#   gpus.conf   first line `name|total MiB|power limit W|driver`, then one UUID a line
#   gpus/PID    what an engine holds: `index utilization memory_mib power_cw temperature_c sm_mhz pid title`
# One shell and one `sleep` a tick, whatever the number of GPUs.
export LC_ALL=C
node=${0%/bin/*}
ids=; mode=; fields=; every_ms=; units=1; header=1; wanted=

while [ $# -gt 0 ]; do
  case $1 in
    --query-gpu=*) mode=gpu; fields=${1#*=} ;;
    --query-gpu) mode=gpu; fields=$2; shift ;;
    --query-compute-apps=*) mode=apps; fields=${1#*=} ;;
    --query-compute-apps) mode=apps; fields=$2; shift ;;
    --format=*) format=${1#*=} ;;
    --format) format=$2; shift ;;
    -lms | --loop-ms) every_ms=$2; shift ;;
    --loop-ms=*) every_ms=${1#*=} ;;
    -l | --loop) every_ms=$2"000"; shift ;;
    --loop=*) every_ms=${1#*=}000 ;;
    -i | --id) wanted=,$2,; shift ;;
    --id=*) wanted=,${1#*=}, ;;
    -L | --list-gpus) mode=list ;;
    --help-query-gpu) mode=help ;;
    *) echo "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help."; exit 1 ;;
  esac
  shift
done
case ",${format-}," in *,noheader,*) header= ;; esac
case ",${format-}," in *,nounits,*) units= ;; esac

n=0
{
  IFS='|' read -r name total limit driver
  while read -r uuid; do
    eval "uuid_$n=\$uuid"
    case $wanted in '' | *,$n,* | *,$uuid,*) ids="$ids $n" ;; esac
    n=$((n + 1))
  done
} <"$node/gpus.conf"

help() {
  printf 'List of valid properties to query for the switch "--query-gpu":\n'
  for names in timestamp driver_version count 'name" or "gpu_name' index 'uuid" or "gpu_uuid' fan.speed pstate \
    'clocks_event_reasons.active" or "clocks_throttle_reasons.active' memory.total memory.used memory.free \
    compute_mode persistence_mode compute_cap utilization.gpu utilization.memory mig.mode.current \
    temperature.gpu temperature.memory power.draw power.limit 'clocks.current.sm" or "clocks.sm' \
    'clocks.current.memory" or "clocks.mem' 'pcie.link.gen.current" or "pcie.link.gen.gpucurrent' \
    pcie.link.width.current ecc.errors.uncorrected.volatile.total; do
    printf '\n"%s"\nAs the driver has it.\n' "$names"
  done
}

# The state of every GPU: idle, or what a living engine says of it.
look() {
  for i in $ids; do
    eval "use_$i=0 mem_$i=0 watt_$i=$((7630 + i * 137 % 400)) heat_$i=$((34 + i % 3)) clock_$i=345"
  done
  for file in "$node"/gpus/[0-9]*; do
    [ -d "/proc/${file##*/}" ] || continue
    while read -r i use mem watt heat clock _ _; do
      eval "use_$i=$use mem_$i=$mem watt_$i=$watt heat_$i=$heat clock_$i=$clock"
    done <"$file" 2>/dev/null
  done
}

# Sets v to the value of field $1 of GPU $i, and u to its unit.
value() {
  u=
  case $1 in
    timestamp) v=$now ;;
    index) v=$i ;;
    count) v=$n ;;
    uuid | gpu_uuid) eval "v=\$uuid_$i" ;;
    name | gpu_name) v=$name ;;
    driver_version) v=$driver ;;
    utilization.gpu) eval "v=\$use_$i"; u=' %' ;;
    utilization.memory) eval "v=\$((use_$i * 2 / 5))"; u=' %' ;;
    memory.used) eval "v=\$mem_$i"; u=' MiB' ;;
    memory.free) eval "v=\$((total - mem_$i))"; u=' MiB' ;;
    memory.total) v=$total; u=' MiB' ;;
    temperature.gpu) eval "v=\$heat_$i" ;;
    temperature.memory) eval "v=\$((heat_$i + 2))" ;;
    power.draw) eval "v=\$((watt_$i + (tick * 31 + $i * 17) % 60))"; v=${v%??}.${v#"${v%??}"}; u=' W' ;;
    power.limit) v=$limit; u=' W' ;;
    clocks.current.sm | clocks.sm) eval "v=\$clock_$i"; u=' MHz' ;;
    clocks.current.memory | clocks.mem) v=3201; u=' MHz' ;;
    clocks_event_reasons.active | clocks_throttle_reasons.active)
      eval "v=\$use_$i"; [ "$v" = 0 ] && v=0x0000000000000001 || v=0x0000000000000000 ;;
    ecc.errors.uncorrected.volatile.total) v=0 ;;
    pcie.link.gen.current | pcie.link.gen.gpucurrent) v=5 ;;
    pcie.link.width.current) v=16 ;;
    pstate) v=P0 ;;
    fan.speed) v='[N/A]' ;;
    persistence_mode) v=Enabled ;;
    compute_mode) v=Default ;;
    mig.mode.current) v=Disabled ;;
    compute_cap) v=9.0 ;;
    *) return 1 ;;
  esac
  [ -n "$units" ] || u=
}

print_gpus() {
  case $fields in *timestamp*) now=$(date '+%Y/%m/%d %H:%M:%S.000') ;; esac
  look
  for i in $ids; do
    row=
    for field in $names; do
      value "$field"
      row="$row, $v$u"
    done
    echo "${row#, }" || exit 1
  done
}

print_apps() {
  for file in "$node"/gpus/[0-9]*; do
    [ -d "/proc/${file##*/}" ] || continue
    while read -r i _ mem _ _ _ pid title; do
      case " $ids " in *" $i "*) ;; *) continue ;; esac
      row=
      for field in $names; do
        u=
        case $field in
          gpu_uuid) eval "v=\$uuid_$i" ;;
          gpu_name) v=$name ;;
          pid) v=$pid ;;
          process_name | name) v=$title ;;
          used_memory | used_gpu_memory) v=$mem; [ -n "$units" ] && u=' MiB' ;;
        esac
        row="$row, $v$u"
      done
      echo "${row#, }" || exit 1
    done <"$file" 2>/dev/null
  done
}

# The heading that goes over a field's column.
heading() {
  case $1 in
    uuid | gpu_uuid) [ "$mode" = gpu ] && echo uuid || echo gpu_uuid ;;
    utilization.*) echo "$1 [%]" ;;
    used_memory | used_gpu_memory) echo 'used_gpu_memory [MiB]' ;;
    memory.*) echo "$1 [MiB]" ;;
    power.*) echo "$1 [W]" ;;
    clocks.sm) echo 'clocks.current.sm [MHz]' ;;
    clocks.mem) echo 'clocks.current.memory [MHz]' ;;
    clocks.*) echo "$1 [MHz]" ;;
    fan.speed) echo 'fan.speed [%]' ;;
    *) echo "$1" ;;
  esac
}

case $mode in
  list) for i in $ids; do eval "echo \"GPU $i: $name (UUID: \$uuid_$i)\""; done; exit 0 ;;
  help) help; exit 0 ;;
  gpu | apps) ;;
  *) echo "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help."; exit 1 ;;
esac

tick=0; now=; row=
look; i=0
set -f; old=$IFS; IFS=', '; names=$(set -- $fields; IFS=' '; echo "$*"); IFS=$old; set +f
for field in $names; do
  known=
  if [ "$mode" = gpu ]; then value "$field" && known=1
  else case $field in gpu_uuid | gpu_name | pid | process_name | name | used_memory | used_gpu_memory) known=1 ;; esac; fi
  [ -n "$known" ] || { echo "Field \"$field\" is not a valid field to query."; echo; exit 2; }
  row="$row, $(heading "$field")"
done
[ -z "$header" ] || echo "${row#, }"
while :; do
  if [ "$mode" = gpu ]; then print_gpus; else print_apps; fi
  [ -n "$every_ms" ] || exit 0
  tick=$((tick + 1))
  sleep "$((every_ms / 1000)).$(printf '%03d' $((every_ms % 1000)))"
done
