# probe INTERVAL_S DRIVER FIELDS DISK...: what a node is and does, as lines of "tag words"; ends when its stdin closes.
# DRIVER and FIELDS: what an earlier "fields" line said, or two empty words; saves asking nvidia-smi what it knows.
#   hello k2p1 boot=ID up=S now=EPOCH tz=+HHMM driver=V kernel=WORDS     first
#   clock up=S now=EPOCH tz=+HHMM                                        now and then: the clock may be set, or summer end
#   tick up=S load=L1,L5,L15 cpu=C1,...,C8 mem=TOTAL_KB,AVAILABLE_KB     every INTERVAL_S
#   df ...                                                               a line of df -Pk, every 5th tick
#   fields DRIVER F1,F2,...                                              the columns of the gpu lines
#   gpu ...                                                              whatever nvidia-smi prints
#   none WORDS                                                           no nvidia-smi
#   pong WORD                                                            the answer to "ping WORD"
# On stdin: "interval S DRIVER FIELDS", "ping WORD".
# Three processes in a row: ticks | nvidia-smi's keeper | its labeller. When the first ends, so do the others; when
# nvidia-smi hangs, only gpu lines stop. With bash a tick costs no process; else one sleep.
export LC_ALL=C PATH="$PATH:/usr/bin:/bin:/usr/local/bin:/usr/local/nvidia/bin:/usr/lib/wsl/lib"
interval=$1 driver=$2 fields=$3
shift 3
wanted='index uuid name utilization.gpu memory.used memory.total power.draw power.limit temperature.gpu
clocks.sm|clocks.current.sm|clocks.gr clocks_event_reasons.active|clocks_throttle_reasons.active driver_version'
exec 3<&0 9>&1 2>/dev/null
limit=
command -v timeout >/dev/null && limit='timeout 10'

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

disks() {
  $limit df -Pk "$@" | while IFS= read -r line; do printf 'df %s\n' "$line" >&9; done
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
  printf 'tick up=%s load=%s,%s,%s cpu=%s,%s,%s,%s,%s,%s,%s,%s mem=%s,%s\n' \
    "$up" "$l1" "$l5" "$l15" "$c1" "$c2" "$c3" "$c4" "$c5" "$c6" "$c7" "$c8" "$total" "$available" >&9
  echo tick
  if [ $((n % 5)) = 0 ] && { [ -z "$df" ] || ! alive "$df"; }; then # a disk that hangs is asked once
    disks "$@" 3<&- >&9 &
    df=$!
  fi
  n=$((n + 1))
  [ $((n % 300)) = 0 ] && clock clock
}

heard() { # a line of stdin
  case $1 in
    ping) printf 'pong %s\n' "$2" >&9 ;;
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
  trap 'kill $nap; exit 0' TERM
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
  n=0 df= nap=
  driver_now
  read -r boot </proc/sys/kernel/random/boot_id
  clock "hello k2p1 boot=$boot" "driver=$now kernel=$(uname -sr)"
  if [ "${BASH_VERSINFO:-0}" -ge 4 ]; then ticks_of_bash "$@"; else ticks_of_sh "$@"; fi
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
