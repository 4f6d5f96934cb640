# The container of a run that docker keeps; supervise, stop and remains have it behind runs.sh.

# k2_docker WORD...: docker, at most 20 s long where that can be bounded.
k2_docker() {
  if command -v timeout >/dev/null 2>&1; then timeout -k 2 20 docker "$@" </dev/null; else docker "$@" </dev/null; fi
}

# k2_container NAME RUN_ID: true while that container runs and its label says that it is this run's. K2_INIT = the pid of its
# first process on the node.
k2_container() {
  k2_says=$(k2_docker inspect -f '{{.State.Running}} {{.State.Pid}} {{index .Config.Labels "k2tui.run"}}' "$1" 2>/dev/null) || return 1
  K2_INIT=${k2_says#* } K2_INIT=${K2_INIT%% *}
  case $K2_INIT in '' | *[!0-9]*) return 1 ;; esac
  [ "$k2_says" = "true $K2_INIT $2" ]
}
