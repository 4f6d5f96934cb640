# What the run scripts share; services/runs.py puts it in front of each. Needs sh and /proc; ps only makes it faster.
# A process is known by boot id, pid and start ticks (field 22 of /proc/PID/stat): a pid alone comes back.
{ read -r K2_BOOT </proc/sys/kernel/random/boot_id; } 2>/dev/null
# some sandboxes hide it; the second of the start does as well
[ -n "${K2_BOOT-}" ] || K2_BOOT=$(sed -n 's/^btime /btime-/p' /proc/stat 2>/dev/null)
: "${K2_BOOT:=unknown}"

# k2_root HOME [claim]: K2_ROOT is where this host keeps its runs. The first host that uses a home gets the home itself,
# any other host that shares it gets HOME/hosts/NAME; the symlink HOME/host names the first. False: nothing there yet.
k2_root() {
  case $1 in "~") K2_ROOT=$HOME ;; "~/"*) K2_ROOT=$HOME/${1#"~/"} ;; *) K2_ROOT=$1 ;; esac
  { read -r k2_host </proc/sys/kernel/hostname; } 2>/dev/null
  case ${k2_host-} in '' | .* | *[!A-Za-z0-9._-]*) k2_host=unnamed ;; esac
  if [ "${2-}" = claim ] && [ ! -h "$K2_ROOT/host" ]; then
    mkdir -p "$K2_ROOT" || return 1
    ln -s "$k2_host" "$K2_ROOT/host" 2>/dev/null
  fi
  k2_first=$(readlink "$K2_ROOT/host" 2>/dev/null) || return 1
  [ "$k2_first" = "$k2_host" ] || K2_ROOT=$K2_ROOT/hosts/$k2_host
}

# k2_stat PID: its state, parent, session and start ticks. False when it is gone. (A name may hold spaces, brackets, newlines.)
k2_stat() {
  k2_l=
  while read -r k2_x || [ -n "$k2_x" ]; do k2_l="$k2_l $k2_x"; done 2>/dev/null <"/proc/$1/stat" || return 1
  [ -n "$k2_l" ] || return 1
  # shellcheck disable=SC2086 # splitting is the point
  set -- ${k2_l##*) }
  K2_STATE=$1 K2_PPID=$2 K2_SID=$4 K2_TICKS=${20-}
}

# k2_alive BOOT PID TICKS: that very process lives.
k2_alive() {
  [ "$1" = "$K2_BOOT" ] && [ "$2" != null ] && k2_stat "$2" && [ "$K2_TICKS" = "$3" ] || return 1
  case $K2_STATE in Z | X | x) return 1 ;; esac
}

# k2_members SESSION [NOT]: K2_MEMBERS = pids that live in the session, but NOT and its own children (helpers of ours).
k2_members() {
  K2_MEMBERS=
  k2_ps=$(ps -o pid= -s "$1" -p $$ 2>/dev/null) # with $$, so that an answer is never empty
  if [ -z "$k2_ps" ]; then k2_ps=$(cd /proc && echo [0-9]*); fi
  for k2_p in $k2_ps; do
    k2_stat "$k2_p" && [ "$K2_SID" = "$1" ] && [ "$k2_p" != "${2-}" ] && [ "$K2_PPID" != "${2-}" ] || continue
    case $K2_STATE in Z | X | x) continue ;; esac
    K2_MEMBERS="$K2_MEMBERS $k2_p"
  done
  K2_MEMBERS=${K2_MEMBERS# }
  [ -n "$K2_MEMBERS" ]
}

# k2_orphans BOOT SESSION TICKS: K2_MEMBERS = what outlived a dead leader. The kernel gives out no pid that still names a
# session, so a living pid SESSION means that the old session is empty and the number is somebody else's.
k2_orphans() {
  K2_MEMBERS=
  [ "$1" = "$K2_BOOT" ] && [ "$2" != null ] || return 1
  if k2_stat "$2" && [ "$K2_TICKS" != "$3" ]; then return 1; fi
  k2_members "$2" || return 1
  k2_ours=
  for k2_p in $K2_MEMBERS; do
    if [ -O "/proc/$k2_p" ] && k2_stat "$k2_p" && [ "$K2_TICKS" -ge "$3" ]; then k2_ours="$k2_ours $k2_p"; fi
  done
  K2_MEMBERS=${k2_ours# }
  [ -n "$K2_MEMBERS" ]
}

# k2_field KEY: a number or word out of the state line in K2_LINE, in K2_V; "null" when it is not there.
k2_field() {
  K2_V=${K2_LINE#*\""$1"\":}
  if [ "$K2_V" = "$K2_LINE" ]; then K2_V=null; return 1; fi
  K2_V=${K2_V%%[,\}]*} K2_V=${K2_V#\"} K2_V=${K2_V%\"}
}

# k2_read_state RUNDIR: the identities of a run, from its state.json.
k2_read_state() {
  K2_LINE=
  read -r K2_LINE 2>/dev/null <"$1/state.json" || [ -n "$K2_LINE" ] || return 1
  k2_field boot_id; S_BOOT=$K2_V
  k2_field supervisor_pid; S_SUP=$K2_V
  k2_field supervisor_start_ticks; S_SUP_TICKS=$K2_V
  k2_field child_pid; S_CHILD=$K2_V
  k2_field child_start_ticks; S_CHILD_TICKS=$K2_V
  k2_field stage; S_STAGE=$K2_V
  k2_field kept_by; S_KEPT_BY=$K2_V
  k2_field kept_as; S_KEPT_AS=$K2_V
  # what is not a number never reaches kill
  case $S_SUP$S_SUP_TICKS in *[!0-9]*) return 1 ;; esac
  case $S_CHILD$S_CHILD_TICKS in nullnull) ;; *[!0-9]*) return 1 ;; esac
}

# k2_command PID: its command line on one line, cut to 200 characters.
k2_command() {
  K2_COMMAND=$(tr '\000-\037' ' ' 2>/dev/null <"/proc/$1/cmdline" | cut -c 1-200)
  K2_COMMAND=${K2_COMMAND% }
}

# k2_listener PORT: true when something listens there; K2_HOLDER = its pid, empty when it can't be told (another user's).
k2_listener() {
  K2_HOLDER=
  k2_hex=$(printf '%04X' "$1")
  k2_inodes=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep "^ *[0-9]*: [0-9A-F]*:$k2_hex [0-9A-F]*:[0-9A-F]* 0A " |
    sed 's/^ *//' | tr -s ' ' | cut -d ' ' -f 10)
  [ -n "$k2_inodes" ] || return 1
  for k2_i in $k2_inodes; do
    K2_HOLDER=$(ls -l /proc/[0-9]*/fd 2>/dev/null | sed -n -e '/^\/proc\//h' -e "/socket:\\[$k2_i\\]/{g;s/[^0-9]//g;p;q;}")
    [ -z "$K2_HOLDER" ] || break
  done
  return 0
}

# k2_nap: a twentieth of a second, where sleep can do so.
k2_nap() { sleep 0.05 2>/dev/null || sleep 1; }

# k2_lives RUNDIR: a process of the run lives, its identity checked. Leaves S_*.
k2_lives() {
  k2_read_state "$1" || return 1
  k2_alive "$S_BOOT" "$S_SUP" "$S_SUP_TICKS" || k2_alive "$S_BOOT" "$S_CHILD" "$S_CHILD_TICKS" && return 0
  # a supervisor that wrote the exit had swept, or is alive; only a killed one leaves orphans that nobody knows of
  [ "$S_BOOT" = "$K2_BOOT" ] && [ ! -e "$1/exit" ] || return 1
  if [ -z "${k2_sessions-}" ]; then k2_sessions=" $(ps -e -o sess= 2>/dev/null | tr -s ' \n' '  ') "; fi
  case $k2_sessions in *[0-9]*) case $k2_sessions in *" $S_SUP "*) ;; *) return 1 ;; esac ;; esac
  k2_orphans "$S_BOOT" "$S_SUP" "$S_SUP_TICKS"
}

# k2_tell RUNDIR...: what is known of these runs, in the words that core/runs.py reads: a "run" line each (1 it lives, 0 it
# does not, p it is planned), then every line of their small files with the path in front.
k2_tell() {
  printf 'k2runs 1 %s %s\n' "$K2_BOOT" "$(date +%s)"
  for k2_d in "$@"; do
    k2_v=0
    if k2_lives "$k2_d"; then k2_v=1; elif [ -e "$k2_d/orders" ] && [ ! -e "$k2_d/state.json" ]; then k2_v=p; fi
    printf 'run %s %s\n' $k2_v "$k2_d"
  done
  k2_n=$#
  for k2_d in "$@"; do set -- "$@" "$k2_d/spec.json" "$k2_d/state.json" "$k2_d/exit" "$k2_d/stop" "$k2_d/verdict"; done
  shift $k2_n
  grep '' "$@" /dev/null 2>/dev/null
  echo k2end
}
