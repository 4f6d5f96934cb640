# listener RUNDIR PORT: who listens on the port of a run, as one line for core/effects/on_node.py: "ours PID COMMAND",
# "foreign PID COMMAND", "none", or "unknown WHY"; then k2end. Changes nothing. It comes behind runs.sh and container.sh.
export LC_ALL=C
say() { printf '%s\nk2end\n' "$*"; exit 0; }
k2_read_state "$1" && [ "$S_BOOT" = "$K2_BOOT" ] || say unknown the run\'s processes are not known

# of PID: it is of this run: in its session, or below its server, or below the first process of its container.
of() {
  k2_up=$1 k2_deep=0
  while k2_stat "$k2_up" && [ $k2_deep -lt 64 ]; do
    # a number that a new session was given is another session: everything of ours began with its supervisor or after it
    if [ "$K2_SID" = "$S_SUP" ] && [ "$K2_TICKS" -ge "$S_SUP_TICKS" ] && { [ "$S_SUP" != "$k2_up" ] || [ "$K2_TICKS" = "$S_SUP_TICKS" ]; }; then
      return 0
    fi
    if [ "$k2_up" = "$S_CHILD" ] && [ "$K2_TICKS" = "$S_CHILD_TICKS" ]; then return 0; fi
    [ "$k2_up" != "${K2_INIT-}" ] || return 0
    k2_up=$K2_PPID k2_deep=$((k2_deep + 1))
    [ "$k2_up" -gt 1 ] || return 1
  done
  return 1
}

k2_listener "$2" || say none
[ -n "$K2_HOLDER" ] || say unknown the port is held by a process of another user
K2_INIT=
if [ "$S_KEPT_BY" = docker ]; then k2_container "$S_KEPT_AS" "${1##*/}" || K2_INIT=; fi
k2_command "$K2_HOLDER"
# what the engine forks for itself has the same socket, and may be gone by now
if of "$K2_HOLDER"; then say ours "$K2_HOLDER" "$K2_COMMAND"; fi
k2_stat "$K2_HOLDER" || say unknown the process that held the port has just ended
say foreign "$K2_HOLDER" "$K2_COMMAND"
