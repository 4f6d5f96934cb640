# write_verdict RUNDIR; stdin: one line. It becomes RUNDIR/verdict, whole or not at all.
umask 077
if [ ! -d "$1" ]; then
  echo "absent $1"
elif head -c 65536 >"$1/verdict.tmp.$$" && mv -f "$1/verdict.tmp.$$" "$1/verdict"; then
  echo written
else
  rm -f "$1/verdict.tmp.$$"
fi
