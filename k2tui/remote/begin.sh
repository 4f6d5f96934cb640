# begin RUNDIR PATIENCE_S: starts a planned run. What it needs stands in the directory. A run that is refused because somebody
# has its port or its GPUs stays planned.
umask 077
k2_begin "$1" "$2" "refused-$$"
