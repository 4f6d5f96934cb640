# log_since FILE SINCE UNTIL EVERY MOST: what a server's log says of its batches between two times, thinned here.
# SINCE and UNTIL are 14 digits, YYYYMMDDHHMMSS, by the clock that the log prints (vLLM prints no year: the last ten
# count). Of each kind of line and rank comes the first in EVERY seconds, at most 400 bytes of it; in all at most the
# newest MOST bytes, then "k2end". Read is at most the last 64 MB, from a place found by bisection on the time stamps.
# Exit 1 when the file can't be read. Needs: stat -c, dd, grep, sed, awk, head, tail.
export LC_ALL=C
exec 2>/dev/null
f=$1 since=$2 until=$3 every=$4 most=$5
case $f in '~/'*) f=$HOME/${f#??} ;; esac
[ -f "$f" ] && [ -r "$f" ] || exit 1
size=$(stat -Lc %s -- "$f") || exit 1
block=65536

stamp_at() { # BLOCK: the digits of the first stamp in it; nothing when there is none
  dd if="$f" bs=$block skip="$1" count=1 | sed -n \
    -e 's/^.*\[\(20[0-9][0-9]\)-\([0-9][0-9]\)-\([0-9][0-9]\) \([0-9][0-9]\):\([0-9][0-9]\):\([0-9][0-9]\).*$/\1\2\3\4\5\6/p' \
    -e 's/^.*INFO \([0-9][0-9]\)-\([0-9][0-9]\) \([0-9][0-9]\):\([0-9][0-9]\):\([0-9][0-9]\) .*$/\1\2\3\4\5/p' |
    head -n 1
}

end=$((size / block + 1))
low=$((end > 1024 ? end - 1024 : 0)) high=$end
while [ $((high - low)) -gt 1 ]; do
  middle=$(((low + high) / 2))
  at=$(stamp_at $middle)
  case $at in
    ??????????????) from=$since ;;
    ??????????) from=${since#????} ;;
    *) from= ;;
  esac
  if [ -n "$from" ] && [ "$at" -lt "$from" ]; then low=$middle; else high=$middle; fi
done

dd if="$f" bs=$block skip=$low count=1025 |
  grep -a -e 'Decode batch' -e 'Prefill batch' -e 'Avg prompt throughput' |
  awk -v since="$since" -v until="$until" -v every="$every" '
    {
      line = substr($0, 1, 400)
      if (match(line, /\[20[0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9][^]]*\]/)) {
        at = substr(line, RSTART + 1, 19)
        who = substr(line, RSTART + 20, RLENGTH - 20) (index(line, "Decode batch") ? "d" : "p")
        sub(/^[.,][0-9]+/, "", who)
      } else if (match(line, /INFO [0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9] /)) {
        at = substr(line, RSTART + 5, 14)
        rest = substr(line, RSTART + RLENGTH)
        who = match(rest, /Engines? [0-9A]+/) ? substr(rest, RSTART, RLENGTH) : "v"
      } else next
      clock = at
      gsub(/[^0-9]/, "", clock)
      if (length(clock) == 10) {
        if (since % 10000000000 <= until % 10000000000 &&
            (clock + 0 < since % 10000000000 || clock + 0 > until % 10000000000)) next
      } else if (clock + 0 < since + 0 || clock + 0 > until + 0) next
      n = length(clock)
      second = substr(clock, n - 5, 2) * 3600 + substr(clock, n - 3, 2) * 60 + substr(clock, n - 1)
      slot = substr(clock, 1, n - 6) " " int(second / every)
      if (told[who] != slot) { told[who] = slot; print line }
    }' | tail -c "$most"
echo k2end
