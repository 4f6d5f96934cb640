# supervise ROOT RUNDIR ANSWER: the parent of one server, the leader of a session of its own. It takes the locks, starts the
# server as RUNDIR/orders say, waits for its end, sweeps what is left of the session, and goes. It survives SSH and k2tui.
# Nothing is waited for but the server. A refusal that leaves the plan as it is goes into RUNDIR/ANSWER.
umask 077
term_rounds=50   # of 0.1 s, before the sweep kills
keep_runs=20 keep_kb=5242880
root=$1 dir=$2 answer=$3
id=${dir##*/} run=${dir#"$root/runs/"}
k2_orders "$dir" || exit 0 # discarded, or begun by somebody else
exec 8>&1 </dev/null >>"$dir/sup.log" 2>&1
port=$O_PORT gpus=$O_GPUS restarts=$O_RESTARTS window=$O_WINDOW delay=$O_DELAY mask=$O_MASK kept_by=$O_KEPT_BY kept_as=$O_NAME
k2_stat $$
ticks=$K2_TICKS child=null child_ticks=null began=$(date +%s) child_began=null done_restarts=0 last_exit=null
me="$K2_BOOT $$ $ticks $run $O_WHO"
held='' claim=''

note() { printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*"; }

state() { # STAGE: starting | running | restarting | ending
  printf '{"run_id":"%s","stage":"%s","boot_id":"%s","supervisor_pid":%s,"supervisor_start_ticks":%s,"child_pid":%s,"child_start_ticks":%s,"session_id":%s,"started_at":%s,"child_started_at":%s,"restarts":%s,"last_exit":%s,"kept_by":"%s","kept_as":"%s"}\n' \
    "$id" "$1" "$K2_BOOT" $$ "$ticks" "$child" "$child_ticks" $$ "$began" "$child_began" "$done_restarts" "$last_exit" \
    "$kept_by" "$kept_as" \
    >"$dir/state.tmp" && mv -f "$dir/state.tmp" "$dir/state.json"
}

release() { # the locks, last
  for l in $held; do k2_give "$root/locks/$l"; done
  held=
  [ -z "$claim" ] || k2_give "$claim"
  claim=
}

refuse() { # CODE [KEY VALUE]...: nothing runs
  {
    printf '%s\n' "$1"
    shift
    while [ $# -gt 1 ]; do
      printf '%s %s\n' "$1" "$(printf '%s' "$2" | tr '\n' ' ')"
      shift 2
    done
  } >"$dir/refused.tmp"
  release
  mv -f "$dir/refused.tmp" "$dir/$answer"
  exit 1
}

take() { # NAME: k2_take, by a lock's name
  k2_take "$root/locks/$1.lock" "$me" || return
  held="$held $1.lock/${K2_HELD##*/}"
}

refuse_for_owner() { # CODE WHAT: K2_OWNER has it
  code=$1 what=$2
  # shellcheck disable=SC2086 # an owner is words
  set -- $K2_OWNER
  stage=orphaned pid=$2
  if k2_alive "$1" "$2" "$3"; then
    stage=starting
    if k2_read_state "$root/runs/$4"; then stage=$S_STAGE pid=${S_CHILD:-$2}; fi
    if [ "$stage" = starting ] && [ "$code" = already_running ]; then code=start_in_progress; fi
  fi
  refuse "$code" what "$what" server "${4%/*}" run "${4#*/}" pid "$pid" stage "$stage" who "${5-}"
}

begin() { # start the server; true when it runs, else VERDICT says why not
  shell=sh
  if [ "$has_setup" = 1 ] && command -v bash >/dev/null 2>&1; then shell=bash; fi # `source`, conda
  rm -f "$dir/starter"
  # shellcheck disable=SC2016 # read by the starter, which becomes the server
  printf '%s\n' "$launch" | "$shell" -c '
    k2_verdict=$1 k2_mask=$2 k2_dir=$3 k2_name=$4
    eval "$(cat)"
    exec </dev/null 8>&- 9>>"$k2_verdict"
    trap "" HUP # the supervisor sees to a terminal that is closed
    umask "$k2_mask"
    unset CDPATH
    case ${k2_cwd-} in "") k2_cwd=$HOME ;; "~") k2_cwd=$HOME ;; "~/"*) k2_cwd=$HOME/${k2_cwd#"~/"} ;; esac
    cd -- "$k2_cwd" 2>/dev/null || { printf "no_cwd %s\n" "$k2_cwd" >&9; exit 1; }
    if [ -n "${k2_setup-}" ]; then
      k2_ready() { eval "$k2_setup" 9>&-; }
      k2_ready || { printf "setup %s\n" "$?" >&9; exit 1; }
    fi
    k2_exports
    case $1 in
      */*) [ -f "$1" ] && [ -x "$1" ] ;;
      *) command -v "$1" >/dev/null 2>&1 ;;
    esac || { printf "no_program %s\n" "$1" >&9; exit 1; }
    printf "run\n" >&9
    exec "$@" 9>&-' k2tui-start "$dir/starter" "$mask" "$dir" "$kept_as" >>"$dir/log" 2>&1 &
  child=$! target=$! child_began=$(date +%s)
  k2_stat "$child" && child_ticks=$K2_TICKS || child_ticks=0
  state starting
  VERDICT=
  while ! { read -r VERDICT <"$dir/starter"; } 2>/dev/null; do
    if ! k2_alive "$K2_BOOT" "$child" "$child_ticks"; then
      { read -r VERDICT <"$dir/starter"; } 2>/dev/null || VERDICT='setup died'
      break
    fi
    sleep 0.02 2>/dev/null || sleep 1
  done
  rm -f "$dir/starter"
  [ "$VERDICT" = run ]
}

# A trapped signal ends `wait` early; the second `wait` gives the server's own status, or 127 when the first had it.
await() {
  woken=
  wait "$child"
  rc=$?
  while [ -n "$woken" ]; do
    woken=
    wait "$child"
    again=$?
    [ $again = 127 ] || rc=$again
  done
  target=
}

sweep() { # what is left of the session: TERM, after 5 s KILL, for as long as something is left
  rounds=0 sig=TERM
  if [ "$kept_by" = docker ] && k2_container "$kept_as" "$id"; then # its client was ended without it
    note "sweep KILL container $kept_as"
    k2_docker kill "$kept_as" >/dev/null 2>&1
  fi
  while k2_members $$ $$; do
    some=
    for p in $K2_MEMBERS; do [ -O "/proc/$p" ] && some="$some $p"; done
    [ -n "$some" ] || { note "left to another user: $K2_MEMBERS"; return; }
    [ $rounds -lt $term_rounds ] || sig=KILL
    case $rounds in 0 | "$term_rounds") note "sweep $sig$some" ;; esac
    for p in $some; do kill -s $sig "$p" 2>/dev/null; done
    rounds=$((rounds + 1))
    if [ $rounds -lt $((term_rounds + 50)) ]; then sleep 0.1 2>/dev/null || sleep 1; else sleep 5; fi
  done
}

prune() { # the newest 20 runs, or 5 GB, of this server; at least one old run, and the newest verified; never a live one
  sum=0 kept=0 verified=
  for name in $(ls -r "${dir%/*}"); do
    old=${dir%/*}/$name keep=
    case $name in [0-9]*T[0-9]*Z-????) ;; *) continue ;; esac
    kept=$((kept + 1))
    if k2_read_state "$old"; then
      k2_owned "$S_BOOT" "$S_SUP" "$S_SUP_TICKS" && keep=1
    elif [ ! -e "$old/refused" ]; then
      keep=1 # planned; k2_forget knows when it is old
    fi
    if [ -z "$verified" ] && grep -q '"verified":true' "$old/verdict" 2>/dev/null; then keep=1 verified=1; fi
    size=$(du -sk "$old" 2>/dev/null) || size=0
    sum=$((sum + ${size%%[!0-9]*}))
    [ -z "$keep" ] || continue
    if [ $kept -gt $keep_runs ] || { [ $kept -gt 2 ] && [ $sum -gt $keep_kb ]; }; then
      rm -rf "$old"
      note "pruned $name"
    fi
  done
}

open_pane() { # the pane of tmux shows the log; nothing that is typed there reaches the server; closing it asks for the end
  stty -isig -echo <&8 2>/dev/null
  kept_as=$(tmux display-message -p -t "${TMUX_PANE-}" '#{session_name}' 2>/dev/null </dev/null) || kept_as=$O_NAME
  unset TMUX TMUX_PANE
  trap 'woken=1; asked=1; [ -e "$dir/stop" ] || echo "$(date +%s) tmux" >"$dir/stop"; [ -z "$target" ] || kill -s TERM "$target" 2>/dev/null' HUP
  # both are children of the supervisor, so no sweep takes them for the server's
  tail -n +1 -F "$dir/log" 2>/dev/null | tr -d '\000-\007\013-\014\016-\037\177' >&8 2>/dev/null &
}

asked= target=
trap 'woken=1; asked=1; [ -z "$target" ] || kill -s TERM "$target" 2>/dev/null' TERM INT
if [ "$kept_by" = tmux ]; then open_pane; else trap '' HUP; fi

if [ "$K2_SID" != $$ ]; then refuse launch_failed detail "its supervisor leads no session under $kept_by"; fi
until k2_take "$dir/claim.lock" "$me"; do # of two who begin the same run, one waits here until the other is through
  [ $? = 1 ] && [ -f "$dir/orders" ] && [ ! -f "$dir/state.json" ] || exit 0
  k2_nap
done
claim=$K2_HELD
if [ ! -f "$dir/orders" ] || [ -f "$dir/state.json" ]; then release; exit 0; fi
take "port-$port" || {
  [ $? = 1 ] || refuse launch_failed detail "cannot lock port $port under $root/locks"
  refuse_for_owner already_running "port $port"
}
for g in $gpus; do
  take "gpu-$g" || {
    [ $? = 1 ] || refuse launch_failed detail "cannot lock GPU $g under $root/locks"
    refuse_for_owner gpus_taken "GPU $g"
  }
done
if k2_listener "$port"; then
  K2_COMMAND=
  [ -z "$K2_HOLDER" ] || k2_command "$K2_HOLDER"
  refuse port_taken pid "$K2_HOLDER" command "$K2_COMMAND"
fi
k2_baseline "$gpus" "${dir%/*}/$O_REPLACES/baseline" >"$dir/baseline"
[ -s "$dir/baseline" ] || rm -f "$dir/baseline"
answer=refused # from here on it is no plan any more
# In memory from here on: a restart needs it, and no file may keep it.
launch=$(cat "$dir/env.sh") && rm -f "$dir/env.sh" || refuse launch_failed detail 'env.sh could not be read'
has_setup=0
case $launch in *k2_setup=*) has_setup=1 ;; esac
state starting || refuse launch_failed detail "cannot write to $dir (is the disk full?)"
rm -f "$dir/orders"
k2_give "$claim"
claim=

crashes=
while :; do
  if [ -n "$asked" ] || [ -e "$dir/stop" ]; then
    [ $done_restarts -gt 0 ] || rc=143
    note 'stopped before it was started'
    break
  fi
  if ! begin; then
    await
    case $VERDICT in
      no_cwd* | no_program*)
        sweep
        [ $done_restarts -gt 0 ] || refuse "${VERDICT%% *}" detail "${VERDICT#* }"
        ;;
      *)
        if [ $done_restarts = 0 ]; then
          [ "$rc" != 0 ] || rc=1
          printf '%s %s\n' "$rc" "$(date +%s)" >"$dir/exit.tmp" && mv -f "$dir/exit.tmp" "$dir/exit"
          sweep
          if [ -n "$asked" ] || [ -e "$dir/stop" ]; then state ending; release; exit 0; fi
          refuse setup_failed run "${run##*/}" status "$rc" detail "$(tail -n 5 "$dir/log" | cut -c 1-400)"
        fi
        ;;
    esac
    note "could not be started again: $VERDICT"
    break
  fi
  state running
  note "started pid $child"
  [ $done_restarts -gt 0 ] || { prune; k2_forget "$root/runs"; }
  await
  now=$(date +%s)
  note "exit $rc"
  if [ -n "$asked" ] || [ -e "$dir/stop" ] || [ "$rc" = 0 ] || [ "$restarts" = 0 ]; then break; fi
  recent=0 kept=
  for t in $crashes; do
    if [ $((now - t)) -lt "$window" ]; then recent=$((recent + 1)) kept="$kept $t"; fi
  done
  if [ $recent -ge "$restarts" ]; then
    note "no restart: $recent within $window s already"
    break
  fi
  crashes="$kept $now"
  sweep
  last_exit=$rc done_restarts=$((done_restarts + 1))
  child=null child_ticks=null
  state restarting
  note "RESTART $done_restarts after exit $rc ($((recent + 1)) of $restarts within $window s)"
  until=$((now + delay)) patience=$((now + delay + 60))
  while [ -z "$asked" ] && [ ! -e "$dir/stop" ]; do
    t=$(date +%s)
    if [ "$t" -ge $until ]; then
      if [ "$t" -ge $patience ] || ! k2_listener "$port"; then break; fi
    fi
    sleep 0.2 2>/dev/null || sleep 1
  done
done
state ending
printf '%s %s\n' "$rc" "$(date +%s)" >"$dir/exit.tmp" && mv -f "$dir/exit.tmp" "$dir/exit"
sweep
release
