# probe INTERVAL_S DRIVER FIELDS DISK...: what a node is and does, as lines of "tag words"; ends when its stdin closes.
# DRIVER and FIELDS: what an earlier "fields" line said, or two empty words; saves asking nvidia-smi what it knows.
#   hello k2p1 boot=ID up=S now=EPOCH tz=+HHMM driver=V kernel=WORDS     first
#   clock up=S now=EPOCH tz=+HHMM                                        now and then: the clock may be set, or summer end
#   tick up=S load=L1,L5,L15 cpu=C1,...,C8 mem=TOTAL_KB,AVAILABLE_KB disk=READ,WRITTEN net=RECEIVED,SENT    every INTERVAL_S
#        disk: sectors of 512 bytes of all physical disks; net: bytes of all network cards; empty when one came or went
#   fields DRIVER F1,F2,...                                              the columns of the gpu lines
#   gpu ...                                                              whatever nvidia-smi prints
#   none WORDS                                                           no nvidia-smi
#   pong WORD                                                            the answer to "ping WORD"
#   began TAG, TAG ..., ended TAG CODE                                   what a program printed that was asked something
#        df: every 5th tick; app: the driver's list of processes; kernel: lines of the kernel's log that matter here
# On stdin: "interval S DRIVER FIELDS", "ping WORD", "ask processes", "ask kernel journal [EPOCH]", "ask kernel dmesg".
# Three processes in a row: ticks | nvidia-smi's keeper | its labeller. When the first ends, so do the others; when
# nvidia-smi hangs, only gpu lines stop. With bash a tick costs no process; else one sleep.
export LC_ALL=C PATH="$PATH:/usr/bin:/bin:/usr/local/bin:/usr/local/nvidia/bin:/usr/lib/wsl/lib"
interval=$1 driver=$2 fields=$3
shift 3
wanted='index uuid name utilization.gpu memory.used memory.total power.draw power.limit temperature.gpu
clocks.sm|clocks.current.sm|clocks.gr clocks_event_reasons.active|clocks_throttle_reasons.active driver_version
temperature.memory clocks.mem|clocks.current.memory clocks.max.sm|clocks.max.graphics pstate fan.speed
pcie.link.gen.gpucurrent|pcie.link.gen.current pcie.link.gen.max pcie.link.width.current pcie.link.width.max
pci.bus_id|gpu_bus_id ecc.errors.uncorrected.volatile.total remapped_rows.pending|retired_pages.pending
mig.mode.current persistence_mode gpu_recovery_action'
exec 3<&0 9>&1 2>/dev/null
limit=
command -v timeout >/dev/null && limit='timeout -s KILL 10'

driver_now() { # of the loaded kernel module, without asking nvidia-smi
  now=
  if read -r line </proc/driver/nvidia/version; then
    for word in $line; do
      case $word in [0-9]*.[0-9]*) now=$word; break ;; esac
    done
  fi
}

alive() { # PID: lives and is no zombie
  { read -r line <"/proc/$1/stat"; } || return 1
  case ${line##*) } in [ZX]*) return 1 ;; esac
}

clock() { # TAG MORE
  read -r up _ </proc/uptime
  set -- "$1" "$2" $(date '+%s.%N %z')
  printf '%s up=%s now=%s tz=%s %s\n' "$1" "$up" "$3" "$4" "$2" >&9
}

# A program that is asked something runs in the background, one for each TAG, with a time limit:
#   { asked PROGRAM...; } 8>&1 | answers TAG 3<&- & TAG=$!
# What it prints, and its pid and exit code in lines of their own, goes to `answers`; that one, when it is ended, ends it.
asked() {
  (
    read -r self _ </proc/self/stat
    echo "@pid $self" >&8
    exec "$@" 2>&1 3<&- 8>&- 9>&-
  )
  echo "@code $?"
}

answers() { # TAG
  pid= code=-
  trap 'kill -s KILL "$pid"; kill -s KILL -- "-$pid"; exit' TERM
  echo "began $1" >&9
  while IFS= read -r line; do
    case $line in
      '@pid '*) pid=${pid:-${line#@pid }} ;; # the first one: a process may have such a line in its name
      '@code '*) code=${line#@code } ;;
      *) printf '%s %s\n' "$1" "$line" >&9 ;;
    esac
  done
  echo "ended $1 $code" >&9
}

free() { # PID: it is no longer at work on the question before; what hangs is not asked twice
  [ -z "$1" ] || ! alive "$1"
}

ask() { # QUESTION WORDS...
  case $1 in
    processes)
      free "$app" || return
      { asked $limit nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory,process_name --format=csv,noheader,nounits; } \
        8>&1 | answers app 3<&- &
      app=$!
      ;;
    kernel)
      free "$kernel" || return
      case $2 in
        journal) set -- journalctl -k -o short-unix --no-pager -n 20000 ${3:+"--since=@$3"} ;;
        *) set -- dmesg ;;
      esac
      {
        asked $limit "$@" | grep -F -e 'Xid (' -e 'fallen off the bus' -e '@code ' -e 'Hint: ' -e 'ermi' -e 'No journal' \
          -e 'No entries' -e 'journalctl: ' -e 'dmesg: ' | tail -n 60
      } 8>&1 | answers kernel 3<&- &
      kernel=$!
      ;;
  esac
}

devices() { # sets `disks` and `cards`: partitions, device mapper and RAID repeat what their disks did, bridges what cards did
  disks= cards= ends=
  for name in /sys/block/*/device; do
    name=${name%/device} name=${name##*/}
    case $name in '*' | nvme*c[0-9]*n[0-9]*) continue ;; esac # one path of several to the same disk
    disks="$disks $name"
  done
  for name in /sys/class/net/*; do
    name=${name##*/}
    case $name in '*' | lo) continue ;; esac
    if [ -e "/sys/class/net/$name/device" ]; then cards="$cards $name"; else ends="$ends $name"; fi
  done
  cards=${cards:-$ends} # a container has no card, only its end of a pair
}

moved() { # sets `disk` and `net`
  disk= net=
  if [ $((n % 30)) = 0 ]; then
    known="$disks;$cards"
    devices
    [ "$known" = "$disks;$cards" ] || [ $n = 0 ] || return # no figure, so that nobody compares two sets
  fi
  all=0 more=0
  for name in $disks; do
    read -r _ _ x _ _ _ y _ <"/sys/block/$name/stat" || { disks=; return; }
    all=$((all + x)) more=$((more + y))
  done
  [ -z "$disks" ] || disk=$all,$more
  all=0 more=0
  for name in $cards; do
    { read -r x <"/sys/class/net/$name/statistics/rx_bytes" && read -r y <"/sys/class/net/$name/statistics/tx_bytes"; } ||
      { cards=; return; }
    all=$((all + x)) more=$((more + y))
  done
  [ -z "$cards" ] || net=$all,$more
}

tick() { # the keeper of nvidia-smi gets a line too: that is when it looks whether its child lives
  read -r up _ </proc/uptime
  read -r l1 l5 l15 _ </proc/loadavg
  read -r _ c1 c2 c3 c4 c5 c6 c7 c8 _ </proc/stat
  total= available=
  while read -r word value _; do
    case $word in
      MemTotal:) total=$value ;;
      MemAvailable:) available=$value; break ;;
    esac
  done </proc/meminfo
  moved
  printf 'tick up=%s load=%s,%s,%s cpu=%s,%s,%s,%s,%s,%s,%s,%s mem=%s,%s disk=%s net=%s\n' "$up" "$l1" "$l5" "$l15" \
    "$c1" "$c2" "$c3" "$c4" "$c5" "$c6" "$c7" "$c8" "$total" "$available" "$disk" "$net" >&9
  echo tick
  if [ $((n % 5)) = 0 ] && free "$df"; then
    { asked $limit df -Pk "$@"; } 8>&1 | answers df 3<&- &
    df=$!
  fi
  n=$((n + 1))
  [ $((n % 300)) = 0 ] && clock clock
}

heard() { # a line of stdin
  case $1 in
    ping) printf 'pong %s\n' "$2" >&9 ;;
    ask)
      shift
      ask "$@"
      ;;
    interval)
      interval=$2
      printf '%s %s %s %s\n' "$@"
      ;;
  esac
}

ticks_of_bash() {
  tick "$@"
  while :; do
    words=
    read -r -t "$interval" words <&3
    case $? in
      0)
        heard $words
        case $words in interval*) tick "$@" ;; esac
        ;;
      1) return ;;
      *) tick "$@" ;;
    esac
  done
}

ticks_in_background() { # DISK...
  trap 'kill $nap $df; exit 0' TERM
  while :; do
    tick "$@"
    sleep "$interval" 3<&- &
    nap=$!
    wait $nap
  done
}

ticks_of_sh() {
  ticks_in_background "$@" 3<&- &
  ticker=$!
  while read -r words <&3; do
    heard $words
    case $words in
      interval*)
        kill $ticker
        ticks_in_background "$@" 3<&- &
        ticker=$!
        ;;
    esac
  done
  kill $ticker
}

ticks() {
  n=0 df= nap= app= kernel= disks= cards=
  driver_now
  read -r boot </proc/sys/kernel/random/boot_id
  clock "hello k2p1 boot=$boot" "driver=$now kernel=$(uname -sr)"
  if [ "${BASH_VERSINFO:-0}" -ge 4 ]; then ticks_of_bash "$@"; else ticks_of_sh "$@"; fi
  kill $df $app $kernel
}

query() { # becomes nvidia-smi, with the columns that its driver knows
  if ! command -v nvidia-smi >/dev/null; then
    echo '@none no nvidia-smi'
    exit
  fi
  driver_now
  if [ -z "$fields" ] || [ "$now" != "$driver" ]; then
    known=$($limit nvidia-smi --help-query-gpu)
    fields=
    for names in $wanted; do
      while [ "$names" ]; do
        name=${names%%|*}
        case $known in
          *"\"$name\""*)
            fields=$fields,$name
            break
            ;;
        esac
        case $names in *'|'*) names=${names#*|} ;; *) names= ;; esac
      done
    done
    fields=${fields#,}
    if [ -z "$fields" ]; then
      printf '@none nvidia-smi says: %s\n' "$(printf '%s\n' "$known" | head -n 1)"
      exit
    fi
  fi
  printf '@fields %s %s\n' "${now:--}" "$fields"
  exec nvidia-smi "--query-gpu=$fields" --format=csv,noheader,nounits -lms "$((interval * 1000))" 2>&1
}

keeper() { # stdin: a line a tick, or a new interval; stdout: to the labeller
  read -r word || return # not before the greeting
  query </dev/null 9>&- &
  smi=$! dead=0
  while read -r word value version columns; do
    case $word in
      interval)
        interval=$value
        [ "$columns" ] && driver=$version fields=$columns
        [ "$driver" = - ] && driver=
        kill -s KILL $smi
        dead=7 # the next look starts the new one; never a second while the first lives, and no waiting for one that hangs
        ;;
      *)
        alive $smi && continue
        dead=$((dead + 1))
        [ $dead -ge 8 ] || continue
        wait $smi
        query </dev/null 9>&- &
        smi=$! dead=0
        ;;
    esac
  done
  kill -s KILL $smi
  wait $smi
}

label() {
  while IFS= read -r line; do
    case $line in
      @*) printf '%s\n' "${line#@}" ;;
      *) printf 'gpu %s\n' "$line" ;;
    esac
  done
}

ticks "$@" | keeper 3<&- | label >&9 3<&-
