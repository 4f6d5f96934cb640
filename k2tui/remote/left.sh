# What is left of a run, for stop and remains; behind runs.sh and container.sh, after k2_read_state.

# k2_left RUNDIR: K2_MEMBERS = living processes of the run but its supervisor; K2_SUP = 1 while that lives; K2_CONTAINER = the
# name of its container while that runs. False when there is nothing.
k2_left() {
  K2_SUP='' K2_CONTAINER=''
  if k2_alive "$S_BOOT" "$S_SUP" "$S_SUP_TICKS"; then
    K2_SUP=1
    k2_members "$S_SUP" "$S_SUP"
    # what the supervisor forked for itself is its child, but so is the server
    if k2_alive "$S_BOOT" "$S_CHILD" "$S_CHILD_TICKS"; then K2_MEMBERS="$S_CHILD${K2_MEMBERS:+ $K2_MEMBERS}"; fi
  else
    k2_orphans "$S_BOOT" "$S_SUP" "$S_SUP_TICKS"
  fi
  if [ "$S_KEPT_BY" = docker ] && k2_container "$S_KEPT_AS" "${1##*/}"; then K2_CONTAINER=$S_KEPT_AS; fi
  [ -n "$K2_MEMBERS$K2_SUP$K2_CONTAINER" ]
}

# k2_outside PORT: K2_OUTSIDE = pids that are likely the run's own and left its session: engine processes that lost their
# parent, and who listens on its port. They are told, never signalled. In a container they are all outside, and known.
k2_outside() {
  K2_OUTSIDE='' k2_holder=''
  if [ -n "$1" ] && k2_listener "$1"; then k2_holder=$K2_HOLDER; fi
  for k2_p in $(ps -e -o pid= -o ppid= -o args= 2>/dev/null |
    sed -n -e 's/^ *\([0-9]*\)  *1  *sglang::.*/\1/p' -e 's/^ *\([0-9]*\)  *1  *VLLM::.*/\1/p') $k2_holder; do
    k2_stat "$k2_p" && [ -O "/proc/$k2_p" ] && [ "$K2_TICKS" -ge "$S_SUP_TICKS" ] && [ "$K2_SID" != "$S_SUP" ] || continue
    case " $K2_OUTSIDE " in *" $k2_p "*) continue ;; esac
    K2_OUTSIDE="$K2_OUTSIDE $k2_p"
  done
}
