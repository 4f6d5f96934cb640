# bench_end HOME ID: ends a benchmark of bench_begin: the session that it leads, known by boot id, pid and start ticks; what
# outlived its leader as well. TERM, after 5 s KILL. Prints "ended", or "none" when nothing of it ran.
export LC_ALL=C
case $2 in '' | *[!A-Za-z0-9-]*) exit 2 ;; esac
boot='' pid='' ticks=''
if k2_root "$1"; then read -r boot pid ticks 2>/dev/null <"$K2_ROOT/benches/$2/state"; fi
case $pid$ticks in '' | *[!0-9]*) printf 'none\n'; exit 0 ;; esac
k2_orphans "$boot" "$pid" "$ticks" || { printf 'none\n'; exit 0; }
rounds=0 sig=TERM
while k2_orphans "$boot" "$pid" "$ticks"; do
  [ $rounds -lt 50 ] || sig=KILL
  for p in $K2_MEMBERS; do kill -s $sig "$p" 2>/dev/null; done
  rounds=$((rounds + 1))
  [ $rounds -lt 150 ] || break
  sleep 0.1 2>/dev/null || sleep 1
done
printf 'ended\n'
