# stop RUNDIR GRACE_S WHO PORT QUIT_S: ends a run and returns when no process of its session is left. TERM to the server
# itself (its own workers would only crash under it), to what is left when it is gone; after the grace QUIT to the server,
# where QUIT_S is not 0 and it has a handler for it (SGLang's ends its whole tree at once and writes its crash dump); QUIT_S
# later KILL to all. The supervisor is left to write the exit. Prints "key words" lines for core/stop_report.py. Nothing is
# signalled by pid alone, and no container without its label.
export LC_ALL=C
umask 077
kill_s=30 # how long after KILL it waits for what can't die
dir=$1 grace=$2 who=$3 port=$4 quit_s=$5
say() { printf '%s\n' "$*"; }
began=$(date +%s)
k2_read_state "$dir" || { say "absent $dir"; say k2end; exit 0; }
written=
{ printf '%s %s\n' "$began" "$who" >"$dir/stop.tmp" && mv -f "$dir/stop.tmp" "$dir/stop" && written=1; } 2>/dev/null # first: no restart from here on
if [ "$S_BOOT" != "$K2_BOOT" ]; then
  say rebooted
  say k2end
  exit 0
fi
reused=
foreign() { # PID TICKS WHAT: say so once when the pid is somebody else's by now
  [ "$1" != null ] && k2_stat "$1" && [ "$K2_TICKS" != "$2" ] || return 0
  case " $reused " in *" $1 "*) return 0 ;; esac
  reused="$reused $1"
  k2_command "$1"
  say "reused $1 $3 $K2_COMMAND"
}

catches_quit() { # PID: it has a handler for QUIT, and is not held in the kernel or by a debugger; without one it would dump core
  k2_stat "$1" || return 1
  case $K2_STATE in D | T | t) return 1 ;; esac
  caught=$(sed -n 's/^SigCgt:.*\(.\)$/\1/p' "/proc/$1/status" 2>/dev/null)
  case $caught in [4567cdef]) return 0 ;; esac
  return 1
}

container() { # SIGNAL: to the container, once. True while it or its client is to end by that
  [ -n "$K2_CONTAINER" ] || { [ -n "$contained" ]; return; }
  case " $contained " in *" $1 "*) return 0 ;; esac
  contained="$contained $1"
  k2_docker kill -s "$1" "$K2_CONTAINER" >/dev/null 2>&1 && say "container $1 $K2_CONTAINER"
  return 0
}

foreign "$S_SUP" "$S_SUP_TICKS" supervisor
foreign "$S_CHILD" "$S_CHILD_TICKS" server
if k2_left "$dir"; then
  [ -n "$K2_SUP" ] || say unsupervised
  # on a full disk a signal tells the supervisor, who would take the end for a crash
  if [ -z "$written" ] && [ -n "$K2_SUP" ]; then kill -s TERM "$S_SUP" 2>/dev/null; fi
  termed='' termed_rest='' quit='' killed='' contained='' rounds=0
  until=$((began + grace)) last=$((began + grace + kill_s)) t=$began
  while k2_left "$dir"; do
    if [ $t -lt $until ]; then
      if container TERM; then :; elif k2_alive "$S_BOOT" "$S_CHILD" "$S_CHILD_TICKS"; then
        if [ "$termed" != "$S_CHILD" ]; then
          termed=$S_CHILD
          kill -s TERM "$S_CHILD" 2>/dev/null && say "term $S_CHILD"
        fi
      elif [ -z "$K2_SUP$termed_rest" ] && [ -n "$K2_MEMBERS" ]; then # a living supervisor sweeps by itself
        termed_rest=1
        for p in $K2_MEMBERS; do kill -s TERM "$p" 2>/dev/null && say "term $p"; done
      fi
    elif [ -z "$quit" ]; then
      quit=1
      if [ "$quit_s" != 0 ] && [ -z "$K2_CONTAINER" ] && k2_alive "$S_BOOT" "$S_CHILD" "$S_CHILD_TICKS" && catches_quit "$S_CHILD" &&
        kill -s QUIT "$S_CHILD" 2>/dev/null; then
        say "quit $S_CHILD"
        until=$((t + quit_s)) last=$((t + quit_s + kill_s))
      fi
      continue
    else
      container KILL
      for p in $K2_MEMBERS; do
        case " $killed " in *" $p "*) continue ;; esac
        k2_command "$p"
        kill -s KILL "$p" 2>/dev/null && killed="$killed $p" && say "kill $p $K2_COMMAND"
      done
      if [ -n "$K2_SUP" ] && [ -z "$K2_MEMBERS" ] && [ $t -ge $((until + 10)) ]; then
        kill -s KILL "$S_SUP" 2>/dev/null && say "kill $S_SUP supervisor"
      fi
      [ $t -lt $last ] || break
    fi
    if [ $rounds -lt 20 ]; then k2_nap; else sleep 0.2 2>/dev/null || sleep 1; fi
    rounds=$((rounds + 1)) t=$(date +%s)
    k2_read_state "$dir" || break # a restart that began before the stop was seen has another child
  done
  if k2_left "$dir"; then
    for p in $K2_MEMBERS; do
      k2_stat "$p" || continue
      state=$K2_STATE
      k2_command "$p"
      say "left $p $state $K2_COMMAND"
    done
    [ -z "$K2_CONTAINER" ] || say "left $K2_INIT - container $K2_CONTAINER"
  fi
else
  say 'not_running'
fi
if [ -r "$dir/exit" ]; then read -r code at <"$dir/exit" && say "exit $code $at"; fi
k2_outside "$port"
for p in $K2_OUTSIDE; do
  k2_command "$p"
  say "outside $p $K2_COMMAND"
done
say "elapsed $(($(date +%s) - began))"
say k2end
