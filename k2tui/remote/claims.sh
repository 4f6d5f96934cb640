# What the scripts that begin or discard a run share: its orders, and who may act on what. It comes behind runs.sh.

# k2_orders RUNDIR: O_* = what a planned run is to be begun with. False when it is no planned run.
k2_orders() {
  O_PORT='' O_GPUS='' O_RESTARTS=0 O_WINDOW=0 O_DELAY=0 O_MASK=022 O_WHO='' O_KEPT_BY=setsid O_NAME='' O_REPLACES=''
  while read -r k2_key k2_value; do
    case $k2_key in
      port) O_PORT=$k2_value ;;
      gpus) O_GPUS=$k2_value ;;
      restarts) O_RESTARTS=$k2_value ;;
      window) O_WINDOW=$k2_value ;;
      delay) O_DELAY=$k2_value ;;
      umask) O_MASK=$k2_value ;;
      who) O_WHO=$k2_value ;;
      kept_by) O_KEPT_BY=$k2_value ;;
      name) O_NAME=$k2_value ;;
      replaces) O_REPLACES=$k2_value ;;
    esac
  done 2>/dev/null <"$1/orders" || return 1
  case $O_PORT in '' | *[!0-9]*) return 1 ;; esac
}

# k2_owned BOOT PID TICKS RUN WHO: a lock counts while its owner lives, or while something of its session does.
k2_owned() { k2_alive "$1" "$2" "$3" || k2_orphans "$1" "$2" "$3"; }

# k2_take LOCK ME: true when the lock is ours, and K2_HELD is what we hold; 1 when K2_OWNER has it; 2 when it can't be made.
# The lock is a directory of numbered symlinks whose targets are owners (BOOT PID TICKS RUN WHO); a symlink is made together
# with its text, and a number can be made once. Who makes the next number and then sees no other living owner has the lock:
# of two who live, the later one always sees the earlier. So a dead owner's lock is taken over without ever being taken
# away, and no two can take the same one.
k2_take() {
  k2_tries=0
  while [ $k2_tries -lt 200 ]; do
    k2_tries=$((k2_tries + 1)) k2_top=0
    mkdir "$1" 2>/dev/null || [ -d "$1" ] || { # its last owner may be taking it away
      [ -w "${1%/*}" ] || return 2
      continue
    }
    for k2_f in "$1"/*; do
      [ -h "$k2_f" ] || continue
      k2_n=${k2_f##*/}
      K2_OWNER=$(readlink "$k2_f") || continue
      # shellcheck disable=SC2086 # an owner is words
      if k2_owned $K2_OWNER; then return 1; fi
      if [ "$k2_n" -gt $k2_top ]; then k2_top=$k2_n; fi
    done 2>/dev/null
    k2_mine=$((k2_top + 1)) k2_other=
    ln -s "$2" "$1/$k2_mine" 2>/dev/null || continue
    for k2_f in "$1"/*; do
      [ -h "$k2_f" ] && [ "${k2_f##*/}" != $k2_mine ] || continue
      K2_OWNER=$(readlink "$k2_f") || continue
      # shellcheck disable=SC2086
      if k2_owned $K2_OWNER; then k2_other=$k2_f; elif [ "${k2_f##*/}" -lt $k2_mine ]; then rm -f "$k2_f"; fi
    done
    if [ -z "$k2_other" ]; then
      K2_HELD=$1/$k2_mine
      return 0
    fi
    [ "$(readlink "$1/$k2_mine")" != "$2" ] || rm -f "$1/$k2_mine"
    k2_nap
  done
  return 2
}

# k2_give HELD: a lock of ours is free again.
k2_give() {
  rm -f "$1"
  rmdir "${1%/*}" 2>/dev/null
}

# k2_claimed RUNDIR: true while somebody begins or discards it at this moment.
k2_claimed() {
  for k2_f in "$1"/claim.lock/*; do
    K2_OWNER=$(readlink "$k2_f" 2>/dev/null) || continue
    # shellcheck disable=SC2086
    if k2_owned $K2_OWNER; then return 0; fi
  done
  return 1
}

# k2_discard RUNDIR: takes a run that was never started away, its secrets first. False while somebody begins it, or when it
# was begun.
k2_discard() {
  k2_stat $$
  k2_take "$1/claim.lock" "$K2_BOOT $$ $K2_TICKS - -" || return 1
  if [ -e "$1/state.json" ]; then
    k2_give "$K2_HELD"
    return 1
  fi
  rm -f "$1/env.sh" "$1/orders"
  k2_tries=0
  until rm -rf "$1" 2>/dev/null; do # somebody who wanted to begin it may have put a claim in there
    k2_tries=$((k2_tries + 1))
    [ $k2_tries -lt 20 ] || return 1
  done
}

# k2_forget RUNS: discards what was planned more than a day ago and begun by nobody, because secrets lie in its env.sh.
k2_forget() {
  k2_old=$(date -u -d "@$(($(date +%s) - 86400))" +%Y%m%d%H%M%S 2>/dev/null) || return 0
  for k2_d in "$1"/*/[0-9]*T[0-9]*Z-????; do
    [ -d "$k2_d" ] && [ ! -e "$k2_d/state.json" ] && [ ! -e "$k2_d/exit" ] || continue
    k2_at=${k2_d##*/}
    k2_day=${k2_at%%T*} k2_at=${k2_at#*T}
    k2_at=$k2_day${k2_at%%Z*}
    case $k2_at in *[!0-9]*) continue ;; esac
    [ "$k2_at" -ge "$k2_old" ] || k2_discard "$k2_d"
  done
}
