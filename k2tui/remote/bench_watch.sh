# bench_watch HOME ID: tells how a benchmark of bench_begin goes on, and ends with it, or when its own stdin closes.
#   L TEXT     the last line of its log, when it changed
#   G          its process is gone and left no exit code
#   X CODE     it ended; then
#   J PIECE    its result, one JSON line, in pieces
#   T TEXT     the last lines of its log
#   E          all is told
export LC_ALL=C # characters are bytes
case $2 in '' | *[!A-Za-z0-9-]*) exit 2 ;; esac
if ! k2_root "$1"; then
  printf 'G\nE\n'
  exit 0
fi
dir=$K2_ROOT/benches/$2 most=67108864
exec 3<&0
(cat >/dev/null; kill -s TERM $$) <&3 >/dev/null 2>&1 &
leash=$!
exec 3<&-
boot='' pid='' ticks='' said='' code=
trap 'kill "$leash" 2>/dev/null' EXIT
trap 'exit 0' TERM
read -r boot pid ticks 2>/dev/null <"$dir/state"
while :; do
  last=$(tail -c 4000 "$dir/log" 2>/dev/null | tr '\r\000' '\n ' | grep -v '^ *$' | tail -n 1 | cut -c 1-400)
  if [ "$last" != "$said" ]; then said=$last; printf 'L %s\n' "$last"; fi
  [ ! -e "$dir/exit" ] || break
  if ! k2_alive "$boot" "${pid:-null}" "$ticks"; then break; fi
  sleep 1
done
read -r code 2>/dev/null <"$dir/exit"
if [ "$code" ]; then
  printf 'X %s\n' "$code"
  tail -n 1 "$dir/out.jsonl" 2>/dev/null | head -c "$most" | fold -w 8000 | sed 's/^/J /'
  echo
else
  printf 'G\n'
fi
tail -c 8000 "$dir/log" 2>/dev/null | tr '\r\000' '\n ' | grep -v '^ *$' | tail -n 20 | cut -c 1-400 | sed 's/^/T /'
printf '\nE\n'
