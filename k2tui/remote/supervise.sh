# supervise ROOT SERVER_DIR/RUN_ID PORT GPUS RESTARTS WINDOW_S DELAY_S UMASK WHO: the parent of one server, in a session
# of its own. It takes the locks, starts the server, waits for its end, sweeps what is left of the session, and goes.
# It survives SSH and k2tui. Nothing is waited for but the server.
umask 077
term_rounds=50   # of 0.1 s, before the sweep kills
keep_runs=20 keep_kb=5242880
root=$1 run=$2 port=$3 gpus=$4 restarts=$5 window=$6 delay=$7 mask=$8 who=$9
dir=$root/runs/$run
k2_stat $$
ticks=$K2_TICKS child=null child_ticks=null began=$(date +%s) child_began=null done_restarts=0 last_exit=null
me="$K2_BOOT $$ $ticks $run $who"
held=

note() { printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*"; }

state() { # STAGE: starting | running | restarting | ending
  printf '{"run_id":"%s","stage":"%s","boot_id":"%s","supervisor_pid":%s,"supervisor_start_ticks":%s,"child_pid":%s,"child_start_ticks":%s,"session_id":%s,"started_at":%s,"child_started_at":%s,"restarts":%s,"last_exit":%s}\n' \
    "${run##*/}" "$1" "$K2_BOOT" $$ "$ticks" "$child" "$child_ticks" $$ "$began" "$child_began" "$done_restarts" "$last_exit" \
    >"$dir/state.tmp" && mv -f "$dir/state.tmp" "$dir/state.json"
}

release() { # the locks, last
  for l in $held; do
    rm -f "$root/locks/$l"
    rmdir "$root/locks/${l%/*}" 2>/dev/null
  done
  held=
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
  rm -f "$dir/env.sh"
  release
  mv -f "$dir/refused.tmp" "$dir/refused"
  exit 1
}

# owned BOOT PID TICKS RUN WHO: a lock counts while its supervisor lives, or while something of its session does.
owned() { k2_alive "$1" "$2" "$3" || k2_orphans "$1" "$2" "$3"; }

# take NAME: true when the lock is ours; 1 when OWNER has it. The lock is a directory of numbered symlinks whose targets
# are owners; a symlink is made together with its text, and a number can be made once. Who makes the next number and then
# sees no other living owner has the lock: of two who live, the later one always sees the earlier. So a dead owner's lock
# is taken over without ever being taken away, and no two can take the same one.
take() {
  lock=$root/locks/$1.lock tries=0
  while [ $tries -lt 200 ]; do
    tries=$((tries + 1)) top=0
    mkdir -p "$lock" 2>/dev/null || { # its last owner may be taking it away
      [ -w "$root/locks" ] || return 2
      continue
    }
    for f in "$lock"/*; do
      [ -h "$f" ] || continue
      n=${f##*/}
      OWNER=$(readlink "$f") || continue
      # shellcheck disable=SC2086 # an owner is words
      if owned $OWNER; then return 1; fi
      if [ "$n" -gt $top ]; then top=$n; fi
    done 2>/dev/null
    mine=$((top + 1)) other=
    ln -s "$me" "$lock/$mine" 2>/dev/null || continue
    for f in "$lock"/*; do
      [ -h "$f" ] && [ "${f##*/}" != $mine ] || continue
      OWNER=$(readlink "$f") || continue
      # shellcheck disable=SC2086
      if owned $OWNER; then other=$f; elif [ "${f##*/}" -lt $mine ]; then rm -f "$f"; fi
    done
    if [ -z "$other" ]; then
      held="$held $1.lock/$mine"
      return 0
    fi
    [ "$(readlink "$lock/$mine")" != "$me" ] || rm -f "$lock/$mine"
    k2_nap
  done
  return 2
}

refuse_for_owner() { # CODE WHAT: OWNER has it
  code=$1 what=$2
  # shellcheck disable=SC2086
  set -- $OWNER
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
  rm -f "$dir/verdict"
  # shellcheck disable=SC2016 # read by the starter, which becomes the server
  printf '%s\n' "$launch" | "$shell" -c '
    k2_verdict=$1 k2_mask=$2
    eval "$(cat)"
    exec </dev/null 9>>"$k2_verdict"
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
    exec "$@" 9>&-' k2tui-start "$dir/verdict" "$mask" >>"$dir/log" 2>&1 &
  child=$! target=$! child_began=$(date +%s)
  k2_stat "$child" && child_ticks=$K2_TICKS || child_ticks=0
  state starting
  VERDICT=
  while ! { read -r VERDICT <"$dir/verdict"; } 2>/dev/null; do
    if ! k2_alive "$K2_BOOT" "$child" "$child_ticks"; then
      { read -r VERDICT <"$dir/verdict"; } 2>/dev/null || VERDICT='setup died'
      break
    fi
    sleep 0.02 2>/dev/null || sleep 1
  done
  rm -f "$dir/verdict"
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

prune() { # the newest 20 runs, or 5 GB, of this server; at least one old run; never a live one
  sum=0 kept=0
  for name in $(ls -r "${dir%/*}"); do
    old=${dir%/*}/$name keep=
    case $name in [0-9]*T[0-9]*Z-????) ;; *) continue ;; esac
    kept=$((kept + 1))
    if k2_read_state "$old"; then
      owned "$S_BOOT" "$S_SUP" "$S_SUP_TICKS" && keep=1
    elif [ ! -e "$old/refused" ]; then
      keep=1 # being made this moment
    fi
    size=$(du -sk "$old" 2>/dev/null) || size=0
    sum=$((sum + ${size%%[!0-9]*}))
    [ -z "$keep" ] || continue
    if [ $kept -gt $keep_runs ] || { [ $kept -gt 2 ] && [ $sum -gt $keep_kb ]; }; then
      rm -rf "$old"
      note "pruned $name"
    fi
  done
}

asked= target=
trap 'woken=1; asked=1; [ -z "$target" ] || kill -s TERM "$target" 2>/dev/null' TERM INT
trap '' HUP

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
# In memory from here on: a restart needs it, and no file may keep it.
launch=$(cat "$dir/env.sh") && rm -f "$dir/env.sh" || refuse launch_failed detail 'env.sh could not be read'
has_setup=0
case $launch in *k2_setup=*) has_setup=1 ;; esac
state starting || refuse launch_failed detail "cannot write to $dir (is the disk full?)"

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
  [ $done_restarts -gt 0 ] || prune
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
