#!/bin/sh
# nvidia-smi as a demo node has it: a link bin/nvidia-smi in the node's directory points here.
#   gpus.conf   first line `name|total MiB|power limit W|driver`, then one UUID a line
#   gpus/PID    what an engine holds: `index utilization memory_mib power_cw temperature_c sm_mhz pid title`
#   smi.fault   what is wrong with the driver or one GPU, on its first line, as long as the file is there:
#                 hang        nothing is answered               none       no devices were found
#                 slow        each answer takes 4 s longer      mismatch   the driver's library is of another version
#                 na          no figure is told                 lost:N     GPU N has fallen off the bus
#                 gone:N      GPU N is listed no more           mig[:N]    it is cut into MIG instances
#                 heat[:N]    too hot, so its clocks are low    brake[:N]  the power supply makes it brake
#                 pcie[:N]    a link of x8, generation 1        ecc[:N]    memory errors; a row waits to be replaced
#               Without N: every GPU. GPU N has the bus address that BUSES says: what XID lines of kernel.log name.
# One shell and one `sleep` a tick, whatever the number of GPUs.
export LC_ALL=C
node=${0%/bin/*}
BUSES='19 3b 4c 5d 9b bb cb db'
ids=; mode=; fields=; every_ms=; units=1; header=1; wanted=; count=1; fault=; faulty=

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
    --query-remapped-rows=*) mode=rows; fields=${1#*=} ;;
    topo | nvlink | dmon) mode=$1 ;;
    -m) ;;
    -s) if [ "$mode" = dmon ]; then shift; else mode=links; fi ;;
    -e) mode=link_errors ;;
    -c) count=$2; shift ;;
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

# Sets fault and faulty (a GPU's index, or empty for all).
told() {
  fault= faulty=
  [ ! -f "$node/smi.fault" ] || IFS=: read -r fault faulty _ <"$node/smi.fault"
}

# Behaves as a driver with this fault, before anything is answered.
trouble() {
  told
  while [ "$fault" = hang ]; do
    sleep 1
    told
  done
  case $fault in
    slow) [ "$mode" = help ] || sleep 4 ;;
    none) echo 'No devices were found'; exit 6 ;;
    mismatch)
      echo 'Failed to initialize NVML: Driver/library version mismatch'
      echo "NVML library version: ${driver%.*}"
      exit 18
      ;;
  esac
}

n=0
{
  IFS='|' read -r name total limit driver
  while read -r uuid; do
    eval "uuid_$n=\$uuid"
    bus=${BUSES%% *} BUSES=${BUSES#* }
    eval "bus_$n=00000000:\$bus:00.0"
    case $wanted in '' | *,$n,* | *,$uuid,*) ids="$ids $n" ;; esac
    n=$((n + 1))
  done
} <"$node/gpus.conf"

help() {
  printf 'List of valid properties to query for the switch "--query-gpu":\n'
  for names in timestamp driver_version count 'name" or "gpu_name' index 'uuid" or "gpu_uuid' fan.speed pstate \
    'pci.bus_id" or "gpu_bus_id' gpu_recovery_action \
    'clocks_event_reasons.active" or "clocks_throttle_reasons.active' memory.total memory.used memory.free \
    compute_mode persistence_mode compute_cap utilization.gpu utilization.memory mig.mode.current \
    temperature.gpu temperature.memory power.draw power.limit 'clocks.current.sm" or "clocks.sm' \
    'clocks.current.memory" or "clocks.mem' 'clocks.max.sm' pcie.link.gen.current pcie.link.gen.gpucurrent \
    pcie.link.gen.max pcie.link.width.current pcie.link.width.max ecc.errors.corrected.volatile.total \
    ecc.errors.uncorrected.volatile.total ecc.errors.uncorrected.aggregate.total remapped_rows.correctable \
    remapped_rows.uncorrectable remapped_rows.pending remapped_rows.failure; do
    printf '\n"%s"\nAs the driver has it.\n' "$names"
  done
}

# The state of every GPU: idle, or what a living engine says of it.
look() {
  trouble
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
    clocks.max.sm) v=1980; u=' MHz' ;;
    clocks_event_reasons.active | clocks_throttle_reasons.active)
      eval "v=\$use_$i"; [ "$v" = 0 ] && v=0x0000000000000001 || v=0x0000000000000000 ;;
    ecc.errors.*) v=0 ;;
    remapped_rows.correctable | remapped_rows.uncorrectable) v=0 ;;
    remapped_rows.pending | remapped_rows.failure) v=No ;;
    pci.bus_id | gpu_bus_id) eval "v=\$bus_$i" ;;
    gpu_recovery_action) v=None ;;
    pcie.link.gen.current | pcie.link.gen.gpucurrent | pcie.link.gen.max) v=5 ;;
    pcie.link.width.current | pcie.link.width.max) v=16 ;;
    pstate) v=P0 ;;
    fan.speed) v='[N/A]' ;;
    persistence_mode) v=Enabled ;;
    compute_mode) v=Default ;;
    mig.mode.current) v=Disabled ;;
    compute_cap) v=9.0 ;;
    *) return 1 ;;
  esac
  [ -z "$fault" ] || spoil "$1"
  [ -n "$units" ] || u=
}

# Changes v as the fault would, when it is this GPU's.
spoil() {
  case $faulty in '' | "$i") ;; *) return ;; esac
  case $fault:$1 in
    *:timestamp | *:index | *:count | *:uuid | *:gpu_uuid | *:name | *:gpu_name | *:driver_version | *:*bus_id) ;;
    lost:*) v='[GPU is lost]'; u= ;;
    na:* | mig:utilization.*) v='[N/A]'; u= ;;
    mig:mig.mode.current) v=Enabled ;;
    slow:persistence_mode) v=Disabled ;;
    heat:temperature.gpu) v=92 ;;
    heat:clocks.*sm) [ "$1" = clocks.max.sm ] || v=990 ;;
    heat:*_reasons.active) v=0x0000000000000048 ;;
    brake:clocks.*sm) [ "$1" = clocks.max.sm ] || v=705 ;;
    brake:*_reasons.active) v=0x0000000000000088 ;;
    pcie:pcie.link.gen.*current) v=1 ;;
    pcie:pcie.link.width.current) v=8 ;;
    ecc:ecc.errors.uncorrected.*) v=2 ;;
    ecc:remapped_rows.pending) v=Yes ;;
    ecc:gpu_recovery_action) v='GPU Reset' ;;
  esac
}

there() { # GPU $i is listed
  [ "$fault" != gone ] || [ "$faulty" != "$i" ]
}

print_gpus() {
  case $fields in *timestamp*) now=$(date '+%Y/%m/%d %H:%M:%S.000') ;; esac
  look
  for i in $ids; do
    there || continue
    row=
    for field in $names; do
      value "$field"
      row="$row, $v$u"
    done
    echo "${row#, }" || exit 1
  done
}

print_apps() {
  trouble
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
    uuid | gpu_uuid) [ "$mode" != apps ] && echo uuid || echo gpu_uuid ;;
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

# How the GPUs are connected, as the driver draws it: the heading is underlined, columns are tabs.
topology() {
  printf '\t\033[4m'
  for i in $ids; do printf 'GPU%s\t' "$i"; done
  printf 'CPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m\n'
  for i in $ids; do
    printf 'GPU%s\t' "$i"
    for other in $ids; do [ "$i" = "$other" ] && printf ' X \t' || printf 'NV18\t'; done
    printf '%s\t%s\t\tN/A\n' "$((i / 4 * 48))-$((i / 4 * 48 + 47))" $((i / 4))
  done
  printf '\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n'
}

traffic() {
  printf '# gpu  rxpci  txpci \n# Idx   MB/s   MB/s \n'
  while [ "$count" -gt 0 ]; do
    look
    for i in $ids; do eval "printf '%5d %6d %6d \n' $i \$((use_$i * 61)) \$((use_$i * 5))"; done
    count=$((count - 1))
    [ "$count" = 0 ] || sleep 1
  done
}

links() {
  for i in $ids; do
    eval "echo \"GPU $i: $name (UUID: \$uuid_$i)\""
    link=0
    while [ $link -lt 18 ]; do
      if [ "$mode" = links ]; then printf '\t Link %s: 26.562 GB/s\n' $link
      else printf '\t Link %s: Replay Errors: 0\n\t Link %s: Recovery Errors: 0\n\t Link %s: CRC Errors: 0\n\n' $link $link $link; fi
      link=$((link + 1))
    done
  done
}

case $mode in
  list | topo | links | link_errors) trouble ;;
esac
case $mode in
  topo) topology; exit 0 ;;
  dmon) traffic; exit 0 ;;
  links | link_errors) links; exit 0 ;;
  list) for i in $ids; do eval "echo \"GPU $i: $name (UUID: \$uuid_$i)\""; done; exit 0 ;;
  help) help; exit 0 ;;
  gpu | apps | rows) ;;
  *) echo "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help."; exit 1 ;;
esac

tick=0; now=; row=
look; i=0
set -f; old=$IFS; IFS=', '; names=$(set -- $fields; IFS=' '; echo "$*"); IFS=$old; set +f
for field in $names; do
  known=
  if [ "$mode" != apps ]; then value "$field" && known=1
  else case $field in gpu_uuid | gpu_name | pid | process_name | name | used_memory | used_gpu_memory) known=1 ;; esac; fi
  [ -n "$known" ] || { echo "Field \"$field\" is not a valid field to query."; echo; exit 2; }
  row="$row, $(heading "$field")"
done
[ -z "$header" ] || echo "${row#, }"
while :; do
  if [ "$mode" = apps ]; then print_apps; else print_gpus; fi
  [ -n "$every_ms" ] || exit 0
  tick=$((tick + 1))
  sleep "$((every_ms / 1000)).$(printf '%03d' $((every_ms % 1000)))"
done
