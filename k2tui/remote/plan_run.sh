# Writes a run's directory, or says why it can't; launch and prepare have it behind claims.sh.

k2_refuse() { # CODE [KEY VALUE]...: the answer, and the end
  printf 'refused %s\n' "$1"
  shift
  while [ $# -gt 1 ]; do
    printf '%s %s\n' "$1" "$(printf '%s' "$2" | tr '\n' ' ')"
    shift 2
  done
  exit 0
}

# k2_can_keep KEPT_BY: true when this node has what keeps such a run; else K2_WHY.
k2_can_keep() {
  case $1 in
    setsid | tmux) k2_needs=$1 ;;
    systemd) k2_needs='systemd-run loginctl' ;;
    docker) k2_needs='docker setsid' ;;
    *) K2_WHY="nothing on a node is kept by $1"; return 1 ;;
  esac
  for k2_need in $k2_needs; do
    command -v "$k2_need" >/dev/null 2>&1 && continue
    K2_WHY="there is no $k2_need on the node"
    [ "$k2_need" != setsid ] || K2_WHY="$K2_WHY (util-linux or busybox has it)"
    return 1
  done
  [ "$1" = systemd ] || return 0
  k2_user=$(id -un)
  case $(loginctl show-user "$k2_user" -p Linger 2>&1 </dev/null) in *Linger=yes*) return 0 ;; esac
  K2_WHY="linger is off for $k2_user on the node, so systemd would end the run with the login: loginctl enable-linger $k2_user"
  return 1
}

# k2_plan HOME SERVER_DIR PORT GPUS RESTARTS WINDOW_S DELAY_S WHO KEPT_BY NAME REPLACES; stdin: shell assignments of k2_spec,
# k2_argv, k2_env, k2_sup and, last, k2_whole (quoted by core/launch_order.py). Leaves the run's path in dir. `orders` comes
# last: a directory that has it and no state.json is a planned run.
k2_plan() {
  k2_mask=$(umask)
  umask 077
  k2_can_keep "$9" || k2_refuse launch_failed detail "$K2_WHY"
  eval "$(cat)"
  [ "${k2_whole-}" = 1 ] || k2_refuse launch_failed detail 'the launch did not arrive whole'
  k2_why=$(k2_root "$1" claim 2>&1 && mkdir -p "$K2_ROOT/locks" "$K2_ROOT/runs/$2" 2>&1) ||
    k2_refuse launch_failed detail "${k2_why:-cannot write to $1}"
  k2_root "$1" claim
  k2_forget "$K2_ROOT/runs"
  while :; do # a run id of its own
    read -r k2_id </proc/sys/kernel/random/uuid
    k2_id=$(date -u +%Y%m%dT%H%M%SZ)-${k2_id%"${k2_id#????}"}
    dir=$K2_ROOT/runs/$2/$k2_id
    k2_why=$(mkdir "$dir" 2>&1) && break
    [ -d "$dir" ] || k2_refuse launch_failed detail "$k2_why"
  done
  k2_name=${10}
  case $9 in systemd | docker) k2_name=$k2_name-$k2_id ;; esac
  {
    printf '{"run_id":"%s","started_at":%s,%s\n' "$k2_id" "$(date +%s)" "${k2_spec#\{}" >"$dir/spec.json" &&
      printf '%s\n' "$k2_argv" >"$dir/argv" && printf '%s\n' "$k2_sup" >"$dir/sup.sh" &&
      printf '%s\n' "$k2_env" >"$dir/env.sh" &&
      printf '%s\n' "port $3" "gpus $4" "restarts $5" "window $6" "delay $7" "umask $k2_mask" "who $8" "kept_by $9" \
        "name $k2_name" "replaces ${11}" >"$dir/orders.tmp" && mv -f "$dir/orders.tmp" "$dir/orders"
  } 2>/dev/null || {
    rm -rf "$dir"
    k2_refuse launch_failed detail "cannot write to $dir (is the disk full?)"
  }
  unset k2_spec k2_argv k2_env k2_sup
}
