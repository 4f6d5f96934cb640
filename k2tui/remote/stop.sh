# stop RUNDIR GRACE_S WHO PORT: ends a run and returns when no process of its session is left. TERM to the server itself
# (its own workers would only crash under it), to what is left when it is gone, KILL to all after the grace; the
# supervisor is left to write the exit. Prints "key words" lines for core/runs.py. Nothing is signalled by pid alone.
export LC_ALL=C
umask 077
dir=$1 grace=$2 who=$3 port=$4
say() { printf '%s\n' "$*"; }
began=$(date +%s)
k2_read_state "$dir" || { say "absent $dir"; say k2end; exit 0; }
printf '%s %s\n' "$began" "$who" >"$dir/stop.tmp" 2>/dev/null && mv -f "$dir/stop.tmp" "$dir/stop" # first: no restart from here on
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

# left: K2_MEMBERS = living processes of the run but its supervisor; SUP = 1 while that lives.
left() {
  SUP=
  if k2_alive "$S_BOOT" "$S_SUP" "$S_SUP_TICKS"; then
    SUP=1
    k2_members "$S_SUP" "$S_SUP"
    # what the supervisor forked for itself is its child, but so is the server
    if k2_alive "$S_BOOT" "$S_CHILD" "$S_CHILD_TICKS"; then K2_MEMBERS="$S_CHILD${K2_MEMBERS:+ $K2_MEMBERS}"; fi
  else
    k2_orphans "$S_BOOT" "$S_SUP" "$S_SUP_TICKS"
  fi
  [ -n "$K2_MEMBERS$SUP" ]
}

foreign "$S_SUP" "$S_SUP_TICKS" supervisor
foreign "$S_CHILD" "$S_CHILD_TICKS" server
if left; then
  [ -n "$SUP" ] || say unsupervised
  termed='' termed_rest='' killed='' rounds=0
  until=$((began + grace)) last=$((began + grace + 30)) t=$began
  while left; do
    if [ $t -lt $until ]; then
      if k2_alive "$S_BOOT" "$S_CHILD" "$S_CHILD_TICKS"; then
        if [ "$termed" != "$S_CHILD" ]; then
          termed=$S_CHILD
          kill -s TERM "$S_CHILD" 2>/dev/null && say "term $S_CHILD"
        fi
      elif [ -z "$SUP$termed_rest" ] && [ -n "$K2_MEMBERS" ]; then # a living supervisor sweeps by itself
        termed_rest=1
        for p in $K2_MEMBERS; do kill -s TERM "$p" 2>/dev/null && say "term $p"; done
      fi
    else
      for p in $K2_MEMBERS; do
        case " $killed " in *" $p "*) continue ;; esac
        k2_command "$p"
        kill -s KILL "$p" 2>/dev/null && killed="$killed $p" && say "kill $p $K2_COMMAND"
      done
      if [ -n "$SUP" ] && [ -z "$K2_MEMBERS" ] && [ $t -ge $((until + 10)) ]; then
        kill -s KILL "$S_SUP" 2>/dev/null && say "kill $S_SUP supervisor"
      fi
      [ $t -lt $last ] || break
    fi
    if [ $rounds -lt 20 ]; then k2_nap; else sleep 0.2 2>/dev/null || sleep 1; fi
    rounds=$((rounds + 1)) t=$(date +%s)
    k2_read_state "$dir" || break # a restart that began before the stop was seen has another child
  done
  if left; then
    for p in $K2_MEMBERS; do
      k2_stat "$p" && k2_command "$p" && say "left $p $K2_STATE $K2_COMMAND"
    done
  fi
else
  say 'not_running'
fi
if [ -r "$dir/exit" ]; then read -r code at <"$dir/exit" && say "exit $code $at"; fi

# Outside of the session: what took a session of its own and lost its parent. Told, never killed.
holder=
if [ -n "$port" ] && k2_listener "$port"; then holder=$K2_HOLDER; fi
for p in $(ps -e -o pid= -o ppid= -o args= 2>/dev/null | sed -n -e 's/^ *\([0-9]*\)  *1  *sglang::.*/\1/p' -e 's/^ *\([0-9]*\)  *1  *VLLM::.*/\1/p') $holder; do
  k2_stat "$p" && [ -O "/proc/$p" ] && [ "$K2_TICKS" -ge "$S_SUP_TICKS" ] && [ "$K2_SID" != "$S_SUP" ] || continue
  k2_command "$p"
  say "outside $p $K2_COMMAND"
done
say "elapsed $(($(date +%s) - began))"
say k2end
