# stop_foreign PID BOOT TICKS look|stop [GRACE_S QUIT_S]: an engine that k2tui did not start, known by boot id, pid and start
# ticks, with the tree of processes below it. `look` tells what a stop would hit, and changes nothing:
#   me UID                            whose processes may be stopped
#   main PID UID                      not told where that process is gone, or its pid is another's ("reused")
#   session SID TTY COMMAND           the session that it is in, and whose; TTY is - where its leader has none
#   tree PID UID COMMAND              what would be stopped
#   beside PID UID COMMAND            an engine's process that came after it and is not below it: never touched
#   unit NAME                         of its control groups, what could start it again
#   env NAME                          the names of its variables, no values
# `stop` ends the tree, in the words of stop.sh: TERM to the main process alone (its own workers would only crash under it),
# to what is left when that is gone; after the grace QUIT to the main process, where QUIT_S is not 0 and it has a handler;
# QUIT_S later KILL to all. Only what was seen below the main process is signalled, each by its own identity, and nothing of
# another user.
export LC_ALL=C
kill_s=30 # how long after KILL it waits for what can't die
pid=$1 boot=$2 ticks=$3 verb=$4 grace=${5-0} quit_s=${6-0}
for word in "$pid" "$ticks" "$grace" "$quit_s"; do case $word in '' | *[!0-9]*) exit 2 ;; esac; done
[ "$pid" -gt 1 ] || exit 2
say() { printf '%s\n' "$*"; }
began=$(date +%s)
me=$(id -u)
uid_of() { # PID: its real user
  uid=$(sed -n 's/^Uid:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status" 2>/dev/null)
  : "${uid:=?}"
}

# grow: tree = PID:TICKS of everything that was seen below the main process; living = pids of those that live now
tree=$pid:$ticks living=
grow() {
  all=
  for d in /proc/[0-9]*; do
    p=${d#/proc/}
    k2_stat "$p" || continue
    case $K2_STATE in Z | X | x) continue ;; esac
    all="$all $p:$K2_TICKS:$K2_PPID"
  done
  living=
  for one in $tree; do case "$all " in *" $one:"*) living="$living ${one%:*}" ;; esac; done
  more=1
  while [ -n "$more" ]; do
    more=
    for one in $all; do
      parent=${one##*:} one=${one%:*}
      case " $living " in *" ${one%:*} "*) continue ;; *" $parent "*) ;; *) continue ;; esac
      tree="$tree $one" living="$living ${one%:*}" more=1
    done
  done
}
lives() { # sets living to what of the tree lives, without a look at all others
  living=
  for one in $tree; do if k2_alive "$boot" "${one%:*}" "${one#*:}"; then living="$living ${one%:*}"; fi; done
  [ -n "$living" ]
}
signal() { # NAME PID: to that very process, when it is mine
  for one in $tree; do
    [ "${one%:*}" = "$2" ] || continue
    if k2_alive "$boot" "$2" "${one#*:}" && [ -O "/proc/$2" ]; then kill -s "$1" "$2" 2>/dev/null; return; fi
  done
  return 1
}
beside() { # K2_BESIDE = engines' processes of mine, younger than it, that lost their parent or share its session
  K2_BESIDE=
  for file in $(grep -lsE '^(sglang|VLLM)::' /proc/[0-9]*/cmdline /dev/null); do
    p=${file#/proc/} p=${p%/cmdline}
    case " $living " in *" $p "*) continue ;; esac
    k2_stat "$p" && [ "$K2_TICKS" -ge "$ticks" ] && [ -O "/proc/$p" ] || continue
    if [ "$K2_SID" = "$sid" ] || [ "$K2_PPID" = 1 ]; then K2_BESIDE="$K2_BESIDE $p"; fi
  done
}
catches_quit() { # PID: it has a handler for QUIT, and is not held in the kernel or by a debugger
  k2_stat "$1" || return 1
  case $K2_STATE in D | T | t) return 1 ;; esac
  caught=$(sed -n 's/^SigCgt:.*\(.\)$/\1/p' "/proc/$1/status" 2>/dev/null)
  case $caught in [4567cdef]) return 0 ;; esac
  return 1
}
told_beside() { # WORD: beside | outside
  beside
  for p in $K2_BESIDE; do
    k2_command "$p"
    uid_of "$p"
    if [ "$1" = outside ]; then say "outside $p $K2_COMMAND"; else say "$1 $p $uid $K2_COMMAND"; fi
  done
}

if ! k2_alive "$boot" "$pid" "$ticks"; then
  if [ "$boot" != "$K2_BOOT" ]; then
    say rebooted
  elif k2_stat "$pid" && [ "$K2_TICKS" != "$ticks" ]; then
    k2_command "$pid"
    say "reused $pid server $K2_COMMAND"
  fi
  say not_running
  say "elapsed 0"
  say k2end
  exit 0
fi
sid=$K2_SID
grow

if [ "$verb" = look ]; then
  say "me $me"
  uid_of "$pid"
  say "main $pid $uid"
  tty=$(readlink "/proc/$sid/fd/0" 2>/dev/null)
  case $tty in /dev/pts/* | /dev/tty*) ;; *) tty=- ;; esac
  k2_command "$sid"
  say "session $sid $tty $K2_COMMAND"
  for p in $living; do
    uid_of "$p"
    k2_command "$p"
    say "tree $p $uid $K2_COMMAND"
  done
  told_beside beside
  sed -n 's/.*\/\([A-Za-z0-9_.@\\-]*\.service\)$/unit \1/p' "/proc/$pid/cgroup" 2>/dev/null | sort -u
  tr '\000' '\n' <"/proc/$pid/environ" 2>/dev/null | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/env \1/p' | head -n 500
  say k2end
  exit 0
fi
[ "$verb" = stop ] || exit 2
if ! [ -O "/proc/$pid" ]; then # nothing of another user is signalled
  uid_of "$pid"
  say "foreign $pid $uid"
  say k2end
  exit 0
fi

termed='' termed_rest='' quit='' killed='' rounds=0
until=$((began + grace)) last=$((began + grace + kill_s)) t=$began looked=$began
while lives; do
  if [ "$t" != "$looked" ]; then grow; looked=$t; fi
  if [ $t -lt $until ]; then
    if k2_alive "$boot" "$pid" "$ticks"; then
      if [ -z "$termed" ]; then
        termed=1
        signal TERM "$pid" && say "term $pid"
      fi
    elif [ -z "$termed_rest" ]; then
      termed_rest=1
      for p in $living; do signal TERM "$p" && say "term $p"; done
    fi
  elif [ -z "$quit" ]; then
    quit=1
    if [ "$quit_s" != 0 ] && k2_alive "$boot" "$pid" "$ticks" && catches_quit "$pid" && signal QUIT "$pid"; then
      say "quit $pid"
      until=$((t + quit_s)) last=$((t + quit_s + kill_s))
    fi
    continue
  else
    for p in $living; do
      case " $killed " in *" $p "*) continue ;; esac
      k2_command "$p"
      signal KILL "$p" && killed="$killed $p" && say "kill $p $K2_COMMAND"
    done
    [ $t -lt $last ] || break
  fi
  if [ $rounds -lt 20 ]; then k2_nap; else sleep 0.2 2>/dev/null || sleep 1; fi
  rounds=$((rounds + 1)) t=$(date +%s)
done
if lives; then
  for p in $living; do
    k2_stat "$p" || continue
    state=$K2_STATE
    k2_command "$p"
    say "left $p $state $K2_COMMAND"
  done
fi
told_beside outside
say "elapsed $(($(date +%s) - began))"
say k2end
