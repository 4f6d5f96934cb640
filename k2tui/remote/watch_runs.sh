# watch_runs HOME PERIOD_S: the runs of this host, told whenever they are other than before; ends when its stdin closes.
# services/run_scan.py puts `runs` in front of it, and `scan` in braces after k2_look(). It says
#   what k2_look says, from "k2runs" to "k2end"    at first, and when it is something else
#   same                                           when it is not, after each look
# On stdin "period S", where there is bash: it looks at once, and from now on that often. Else PERIOD_S stays.
exec 2>/dev/null
home=$1 period=$2 told=

tell() {
  text=$(k2_look "$home")
  facts=${text#*"
"} # but the first line, which has the time of day in it
  case $facts in
    *k2end) ;;
    *) return ;; # it broke off: the next look may do better
  esac
  if [ "$facts" = "$told" ]; then
    echo same
  else
    told=$facts
    printf '%s\n' "$text"
  fi
}

if [ "${BASH_VERSINFO:-0}" -ge 4 ]; then
  while :; do
    tell
    words=
    read -r -t "$period" words
    case $? in
      0) case $words in "period "[1-9]*) period=${words#period } ;; esac ;;
      1) exit ;;
    esac
  done
fi
exec 3<&0
(cat >/dev/null; kill -s TERM $$) <&3 >/dev/null &
exec 3<&-
trap 'kill $nap; exit 0' TERM
while :; do
  tell
  sleep "$period" >/dev/null &
  nap=$!
  wait $nap
done
