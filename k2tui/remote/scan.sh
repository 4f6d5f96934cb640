# scan HOME: the newest 20 runs of every server of this host, planned ones among them, with what lives. Changes nothing; a few
# forks in all.
export LC_ALL=C
k2_root "$1" || { k2_tell; exit 0; }
set --
for server in "$K2_ROOT"/runs/*; do
  n=0
  for dir in "$server"/[0-9]*T[0-9]*Z-????; do
    if [ -f "$dir/state.json" ] || [ -f "$dir/orders" ]; then n=$((n + 1)); fi
  done
  for dir in "$server"/[0-9]*T[0-9]*Z-????; do
    [ -f "$dir/state.json" ] || [ -f "$dir/orders" ] || continue
    n=$((n - 1))
    if [ -e "$dir/refused" ] && [ ! -e "$dir/exit" ]; then continue; fi
    [ $n -ge 20 ] || set -- "$@" "$dir"
  done
done
k2_tell "$@"
