# launch HOME SERVER_DIR PORT GPUS RESTARTS WINDOW_S DELAY_S WHO WAIT_S; stdin: shell assignments of k2_spec, k2_argv,
# k2_env, k2_sup and, last, k2_whole (quoted by core/launch_order.py). Makes the run directory, starts the supervisor in a
# session of its own and waits until the server was started or refused. Prints "launched" and the run in the words of
# scan.sh, or "refused CODE" and its details.
k2_mask=$(umask)
umask 077
refuse() { # CODE [KEY VALUE]...
  printf 'refused %s\n' "$1"
  shift
  while [ $# -gt 1 ]; do
    printf '%s %s\n' "$1" "$(printf '%s' "$2" | tr '\n' ' ')"
    shift 2
  done
  exit 0
}
command -v setsid >/dev/null 2>&1 || refuse launch_failed detail 'there is no setsid on the node (util-linux or busybox has it)'
eval "$(cat)"
[ "${k2_whole-}" = 1 ] || refuse launch_failed detail 'the launch did not arrive whole'
why=$(k2_root "$1" claim 2>&1 && mkdir -p "$K2_ROOT/locks" "$K2_ROOT/runs/$2" 2>&1) || refuse launch_failed detail "${why:-cannot write to $1}"
k2_root "$1" claim
server=$K2_ROOT/runs/$2
port=$3 gpus=$4 restarts=$5 window=$6 delay=$7 who=$8 patience=$9

while :; do # a run id of its own
  read -r id </proc/sys/kernel/random/uuid
  id=$(date -u +%Y%m%dT%H%M%SZ)-${id%"${id#????}"}
  dir=$server/$id
  why=$(mkdir "$dir" 2>&1) && break
  [ -d "$dir" ] || refuse launch_failed detail "$why"
done
{
  printf '{"run_id":"%s","started_at":%s,%s\n' "$id" "$(date +%s)" "${k2_spec#\{}" >"$dir/spec.json" &&
    printf '%s\n' "$k2_argv" >"$dir/argv" && printf '%s\n' "$k2_env" >"$dir/env.sh" && printf '%s\n' "$k2_sup" >"$dir/sup.sh"
} 2>/dev/null || { rm -rf "$dir"; refuse launch_failed detail "cannot write to $dir (is the disk full?)"; }
unset k2_spec k2_argv k2_env k2_sup

cd / || exit 1
setsid sh "$dir/sup.sh" "$K2_ROOT" "$2/$id" "$port" "$gpus" "$restarts" "$window" "$delay" "$k2_mask" "$who" \
  </dev/null >>"$dir/sup.log" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
sup=$!
until=$(($(date +%s) + patience)) gone=0
while :; do
  if [ -f "$dir/refused" ]; then
    printf 'refused '
    cat "$dir/refused"
    [ -f "$dir/exit" ] || rm -rf "$dir"
    exit 0
  fi
  if k2_read_state "$dir" && [ "$S_STAGE" != starting ]; then
    # a start that was stopped is told when it is over
    if [ "$S_STAGE" != ending ] || ! k2_alive "$S_BOOT" "$S_SUP" "$S_SUP_TICKS"; then break; fi
  fi
  # setsid may have forked, so the pid alone decides nothing before a second look
  if ! { k2_stat "$sup" && [ "$K2_STATE" != Z ]; } && ! { [ -n "${S_SUP-}" ] && k2_alive "$S_BOOT" "$S_SUP" "$S_SUP_TICKS"; }; then
    gone=$((gone + 1))
    if [ $gone -gt 20 ]; then
      why=$(tail -n 5 "$dir/sup.log" 2>/dev/null)
      rm -f "$dir/env.sh"
      refuse launch_failed run "$id" detail "the supervisor ended at once: ${why:-it said nothing}"
    fi
  elif [ "$(date +%s)" -gt "$until" ]; then break; fi
  k2_nap
done
echo launched
k2_tell "$dir"
