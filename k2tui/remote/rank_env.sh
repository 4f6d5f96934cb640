# rank_env RUNDIR NAME...: the processes of a run that do the work, and what these variables are in the environment of each;
# of NAME with an @ in front only whether it is set, since its value is a secret. Lines for core/effects/on_node.py:
# "rank PID TITLE", "set PID NAME VALUE", "unset PID NAME", "dark PID" (its environment can't be read); then k2end. Of a VALUE
# the first 400 bytes, a line break in it as the byte 1, other bytes below the blank as tabs.
# Changes nothing. It comes behind runs.sh and container.sh.
export LC_ALL=C
dir=$1
shift
k2_read_state "$dir" && [ "$S_BOOT" = "$K2_BOOT" ] || { echo k2end; exit 0; }
if k2_alive "$S_BOOT" "$S_SUP" "$S_SUP_TICKS"; then k2_members "$S_SUP" "$S_SUP"; else k2_orphans "$S_BOOT" "$S_SUP" "$S_SUP_TICKS"; fi
if [ "$S_KEPT_BY" = docker ] && k2_container "$S_KEPT_AS" "${dir##*/}"; then
  K2_MEMBERS=$(k2_docker top "$S_KEPT_AS" -o pid 2>/dev/null | grep -v '[^0-9 ]' | tr '\n' ' ')
fi
ranks='' alone=''
for pid in $K2_MEMBERS; do
  k2_command "$pid"
  case $K2_COMMAND in
    sglang::scheduler* | VLLM::Worker*) ranks="$ranks $pid" ;;
    VLLM::EngineCore*) alone="$alone $pid" ;;
  esac
done
# an engine without workers of its own is its own rank
ranks=${ranks:-${alone:-$S_CHILD}}
for pid in $ranks; do
  k2_stat "$pid" || continue
  k2_command "$pid"
  printf 'rank %s %s\n' "$pid" "$K2_COMMAND"
  # a process that wrote its title over its environment has none left: no variable begins the file
  environ=$(tr '\000\012\001-\011\013-\037' '\n\001\t' 2>/dev/null <"/proc/$pid/environ")
  case $environ in
    *=*) ;;
    *)
      printf 'dark %s\n' "$pid"
      continue
      ;;
  esac
  for name in "$@"; do
    value=$(printf '%s\n' "$environ" | sed -n "s/^${name#@}=/=/p" | head -n 1)
    case $value in
      =*)
        value=${value#=}
        case $name in @*) value='***' ;; esac
        printf 'set %s %s %s\n' "$pid" "${name#@}" "$(printf '%s' "$value" | cut -b 1-400)"
        ;;
      *) printf 'unset %s %s\n' "$pid" "${name#@}" ;;
    esac
  done
done
echo k2end
