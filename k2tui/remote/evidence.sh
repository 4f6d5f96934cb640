# evidence RUNDIR: what can be seen of a run that hangs, before anybody kills it, or of one that failed, before another takes
# its GPUs, into RUNDIR/evidence-TIME.txt. Reads only; each helper is bounded and optional. Prints the file's path.
export LC_ALL=C
umask 077
dir=$1
k2_read_state "$dir" || { echo "absent $dir"; exit 0; }
out=$dir/evidence-$(date -u +%Y%m%dT%H%M%SZ).txt
bounded() {
  if command -v timeout >/dev/null 2>&1; then timeout -k 2 "$@" 2>&1 </dev/null || echo "(ended with $?)"; else echo '(not asked: there is no timeout on the node)'; fi
}
k2_left "$dir"
{
  echo "== run $dir at $(date -u +%Y-%m-%dT%H:%M:%SZ)"
  if [ -r "$dir/exit" ] && read -r code at <"$dir/exit"; then echo "== ended with exit $code at $at (Unix time)"; else echo '== no exit was recorded'; fi
  echo "== last line of each rank"
  tail -c 4000000 "$dir/log" 2>/dev/null | tr '\r' '\n' | cut -c 1-400 |
    awk '{ if (match($0, /(TP|PP|DP|EP)[0-9]+[^]]*\]/)) last[substr($0, RSTART, RLENGTH)] = $0 } END { for (r in last) print last[r] }' 2>/dev/null | sort | head -n 64
  echo "== last lines of the log"
  tail -c 200000 "$dir/log" 2>/dev/null | tr '\r' '\n' | cut -c 1-400 | tail -n 40
  echo "== processes: pid, parent, state, wait channel, command"
  for p in $K2_MEMBERS; do
    k2_stat "$p" || continue
    k2_state=$K2_STATE k2_parent=$K2_PPID
    k2_command "$p"
    printf '%s %s %s %s %s\n' "$p" "$k2_parent" "$k2_state" "$(cat "/proc/$p/wchan" 2>/dev/null || echo '?')" "$K2_COMMAND"
    cat "/proc/$p/stack" 2>/dev/null | head -n 12
  done
  for p in $K2_MEMBERS; do
    exe=$(readlink "/proc/$p/exe" 2>/dev/null)
    case ${exe##*/} in python*) ;; *) continue ;; esac
    spy=$(command -v py-spy 2>/dev/null)
    # beside the interpreter that it was started with (a virtual environment's), which is the first word of its command
    first=$(tr '\000' '\n' <"/proc/$p/cmdline" 2>/dev/null | head -n 1)
    [ -n "$spy" ] || for spy in "${first%/*}/py-spy" "${exe%/*}/py-spy"; do [ -x "$spy" ] && break; spy=; done
    [ -n "$spy" ] || { echo "== py-spy: not on the node"; break; }
    echo "== py-spy dump $p"
    bounded 10 "$spy" dump --pid "$p" | head -n 200
  done
  echo "== what the kernel said of GPUs and of memory"
  bounded 5 dmesg | grep -E 'NVRM|Xid|oom-kill|Out of memory|Killed process' | cut -c 1-400 | tail -n 40
  echo "== nvidia-smi"
  if command -v nvidia-smi >/dev/null 2>&1; then bounded 15 nvidia-smi | head -n 100; else echo '(not on the node)'; fi
} >"$out" 2>/dev/null
echo "kept $out"
