# preflight HOME PORT...; stdin: shell assignments of k2_cwd, k2_setup, k2_path, k2_program and k2_model, quoted by
# core/preflight_look.py; k2_whole comes last. Looks at what a launch needs and starts nothing, but for the setup line, which
# is tried. Each step is bounded in time where the node can do so. Values are one line; what is not told was not looked at.
#   k2pre 1                                       first
#   home PATH yes|no                              can it be written to; disk DIRECTORY TOTAL_KB FREE_KB of it and of /dev/shm
#   cwd PATH                                      there is no such directory
#   setup CODE|ended|slow                         the setup line failed, left the shell, or took too long
#   program yes|no NAME
#   model dir|file|none|slow
#   port PORT free | hidden | held PID SESSION TICKS COMMAND
export LC_ALL=C
k2_stdin=$(cat)
eval "$k2_stdin"
[ "${k2_whole-}" = 1 ] || exit 1
k2_home=$1
shift
k2_line() { printf '%s\n' "$(printf '%s' "$1" | tr '\000-\037\177' ' ' | cut -c 1-1000)"; }
k2_limited() { if command -v timeout >/dev/null 2>&1; then timeout -s KILL "$@"; else shift && "$@"; fi 2>/dev/null; }
echo 'k2pre 1'

# $1 is what the step is given; PATH is the node's own
k2_root "$k2_home"
k2_d=$K2_ROOT
while [ -n "$k2_d" ] && [ ! -e "$k2_d" ]; do k2_d=${k2_d%/*}; done
k2_yes=no
if [ -d "${k2_d:-/}" ] && [ -w "${k2_d:-/}" ] && [ -x "${k2_d:-/}" ]; then k2_yes=yes; fi
k2_line "home $k2_yes $K2_ROOT"
for k2_x in "${k2_d:-/}" /dev/shm; do
  [ -d "$k2_x" ] || continue
  k2_kb=$(k2_limited 5 df -Pk -- "$k2_x" | sed -n '$s/.* \([0-9][0-9]*\)  *[0-9][0-9]*  *\([0-9][0-9]*\)  *[0-9-][0-9]*%.*/\1 \2/p')
  [ -z "$k2_kb" ] || k2_line "disk $k2_kb $k2_x"
done

# the same steps as those of the start itself (remote/supervise.sh)
if [ -n "${k2_program-}" ]; then
  k2_shell=sh
  if [ -n "${k2_setup-}" ] && command -v bash >/dev/null 2>&1; then k2_shell=bash; fi
  k2_said=$(printf '%s\n' "$k2_stdin" | k2_limited 10 "$k2_shell" -c '
    eval "$(cat)"
    exec </dev/null 9>&1 >/dev/null 2>&1
    unset CDPATH
    cd /
    case ${k2_cwd-} in "") k2_cwd=$HOME ;; "~") k2_cwd=$HOME ;; "~/"*) k2_cwd=$HOME/${k2_cwd#"~/"} ;; esac
    cd -- "$k2_cwd" || { printf "cwd\n" >&9; exit 0; }
    if [ -n "${k2_setup-}" ]; then
      k2_ready() { eval "$k2_setup" 9>&-; }
      k2_ready || { printf "setup %s\n" "$?" >&9; exit 0; }
    fi
    [ -z "${k2_path-}" ] || PATH=$k2_path
    case $k2_program in
      */*) [ -f "$k2_program" ] && [ -x "$k2_program" ] ;;
      *) command -v "$k2_program" ;;
    esac && { printf "program yes\n" >&9; exit 0; }
    printf "program no\n" >&9')
  k2_code=$?
  case $k2_said in
    cwd) k2_line "cwd ${k2_cwd:-"~"}" ;;
    setup*) k2_line "$k2_said" ;;
    'program '*) k2_line "$k2_said $k2_program" ;;
    *) # it said nothing: it was ended for its time, or the setup line left the shell
      [ -z "${k2_setup-}" ] || if [ $k2_code -ge 124 ]; then echo 'setup slow'; else echo 'setup ended'; fi
      ;;
  esac
fi

if [ -n "${k2_model-}" ]; then
  k2_said=$(k2_limited 5 sh -c '
    cd / || exit
    case $2 in "~") set -- "$1" "$HOME" ;; "~/"*) set -- "$1" "$HOME/${2#"~/"}" ;; "") set -- "$1" "$HOME" ;; esac
    cd -- "$2" 2>/dev/null
    case $1 in "~") set -- "$HOME" ;; "~/"*) set -- "$HOME/${1#"~/"}" ;; esac
    if [ -d "$1" ]; then echo dir; elif [ -e "$1" ]; then echo file; else echo none; fi' k2 "$k2_model" "${k2_cwd-}")
  k2_line "model ${k2_said:-slow}"
fi

for k2_port in "$@"; do
  if ! k2_listener "$k2_port"; then
    echo "port $k2_port free"
  elif [ -z "$K2_HOLDER" ] || ! k2_stat "$K2_HOLDER"; then
    echo "port $k2_port hidden"
  else
    k2_command "$K2_HOLDER"
    k2_line "port $k2_port held $K2_HOLDER $K2_SID $K2_TICKS $K2_COMMAND"
  fi
done
echo k2end
