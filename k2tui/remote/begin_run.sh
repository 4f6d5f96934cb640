# Begins a planned run; launch and begin have it behind plan_run.sh.

k2_not_kept() { # WHY: a launch leaves nothing of it, a plan stays one
  [ "$answer" != refused ] || rm -rf "$dir"
  k2_refuse launch_failed detail "$1"
}

# k2_keep RUNDIR ROOT ANSWER: starts its supervisor under what keeps it, as the leader of a session. sup = its pid, where
# that is known.
k2_keep() {
  k2_can_keep "$O_KEPT_BY" || k2_not_kept "$K2_WHY"
  cd / || exit 1
  set -- "$1/sup.sh" "$2" "$1" "$3"
  case $O_KEPT_BY in
    tmux)
      for k2_name in "$O_NAME" "$O_NAME-${3##*-}"; do # the second when a session has that name
        k2_why=$(tmux new-session -d -P -F '#{pane_pid}' -s "$k2_name" sh "$@" 2>&1 </dev/null)
        case $k2_why in '' | *[!0-9]*) ;; *) break ;; esac
      done
      case $k2_why in '' | *[!0-9]*) k2_not_kept "tmux: ${k2_why:-no answer}" ;; esac
      sup=$k2_why
      ;;
    systemd)
      XDG_RUNTIME_DIR=/run/user/$(id -u)
      export XDG_RUNTIME_DIR
      case $* in *\$*) k2_not_kept "systemd would read the \$ in $1" ;; esac
      k2_why=$(systemd-run --user --quiet --collect --unit "$O_NAME" -p KillMode=mixed -p TimeoutStopSec=90 \
        -- "$(command -v sh)" "$@" 2>&1 </dev/null) || k2_not_kept "systemd-run: $k2_why"
      sup=$(systemctl --user show -p MainPID "$O_NAME" 2>/dev/null </dev/null)
      sup=${sup#MainPID=}
      ;;
    *)
      setsid sh "$@" </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
      sup=$!
      ;;
  esac
}

# k2_begin RUNDIR PATIENCE_S ANSWER: waits until the server of a planned run was started or refused, and says "launched" and
# the run in the words of scan.sh, or "refused CODE" and its details. A run that was begun already is told as it stands. The
# supervisor writes a refusal that leaves the plan as it is into RUNDIR/ANSWER, any other into RUNDIR/refused.
k2_begin() {
  dir=$1 answer=$3 sup='' gone=0
  until=$(($(date +%s) + $2))
  id=${dir##*/} root=${dir%/*/*/*}
  S_SUP='' S_STAGE=''
  if ! k2_read_state "$dir"; then
    k2_orders "$dir" || k2_refuse no_such_run run "$id"
    k2_keep "$dir" "$root" "$answer"
  fi
  while :; do
    for said in "$dir/$answer" "$dir/refused"; do
      [ -f "$said" ] || continue
      printf 'refused '
      cat "$said"
      if [ "$said" = "$dir/refused" ]; then
        [ -f "$dir/exit" ] || rm -rf "$dir"
      else
        rm -f "$said"
      fi
      exit 0
    done
    if k2_read_state "$dir" && [ "$S_STAGE" != starting ]; then
      # a start that was stopped is told when it is over
      if [ "$S_STAGE" != ending ] || ! k2_alive "$S_BOOT" "$S_SUP" "$S_SUP_TICKS"; then break; fi
    fi
    [ -d "$dir" ] || k2_refuse no_such_run run "$id"
    # setsid may have forked, so the pid alone decides nothing before a second look
    if ! { k2_stat "$sup" && [ "$K2_STATE" != Z ]; } && ! { [ -n "${S_SUP-}" ] && k2_alive "$S_BOOT" "$S_SUP" "$S_SUP_TICKS"; } &&
      ! k2_claimed "$dir"; then
      gone=$((gone + 1))
      if [ $gone -gt 1 ] && [ -f "$dir/exit" ]; then break; fi # begun before: its setup line failed, or it is over
      if [ $gone -gt 20 ]; then
        why=$(tail -n 5 "$dir/sup.log" 2>/dev/null)
        [ "$answer" != refused ] || rm -f "$dir/env.sh" "$dir/orders"
        k2_refuse launch_failed run "$id" detail "the supervisor ended at once: ${why:-it said nothing}"
      fi
    elif [ "$(date +%s)" -gt "$until" ]; then break; fi
    k2_nap
  done
  echo launched
  k2_tell "$dir"
}
