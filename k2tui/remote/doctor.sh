# doctor HOME DISKS [SETUP PYTHON]...: what a node offers, one "<tag> <words>" line per finding. Needs sh; the rest is optional.
# DISKS: paths separated by newlines. Each SETUP is a shell line of the operator's config; PYTHON may be empty.
home=$1 disks=$2
shift 2
case $home in '~') home=$HOME ;; '~/'*) home=$HOME/${home#'~/'} ;; esac
ms() { t=$(date +%s%N 2>/dev/null); case $t in *N | '') echo $(($(date +%s) * 1000)) ;; *) echo $((t / 1000000)) ;; esac; }
bounded() { if command -v timeout >/dev/null 2>&1; then timeout 30 "$@"; else "$@"; fi; }

echo "shell $(uname -sr), login shell ${SHELL:-unknown}"
echo "clock $(date +%s)"
if mkdir -p "$home" 2>/dev/null && [ -w "$home" ]; then echo "home ok $home"; else echo "home bad $home"; fi
[ -r /proc/self/stat ] && echo 'proc ok' || echo 'proc bad'
command -v setsid >/dev/null 2>&1 && echo 'setsid ok' || echo 'setsid bad'
if command -v nvidia-smi >/dev/null 2>&1; then
  began=$(ms)
  if list=$(bounded nvidia-smi -L 2>&1 </dev/null); then
    echo "gpus ok $(($(ms) - began)) $(printf '%s\n' "$list" | grep -c '^GPU ')"
  else
    echo "gpus bad $(($(ms) - began)) $(printf '%s\n' "$list" | head -n 1)"
  fi
else
  echo 'gpus none'
fi
printf '%s\n%s\n' "$home" "$disks" | while IFS= read -r path; do
  [ -n "$path" ] || continue
  row=$(df -Pk "$path" 2>/dev/null | sed -n 2p)
  if [ -n "$row" ]; then
    set -- $row
    echo "disk ok $4 $2 $path"
  else
    echo "disk bad 0 0 $path"
  fi
done
while [ $# -ge 2 ]; do
  setup=$1 python=$2
  shift 2
  # A shell line that fails may end the shell that runs it, so it runs in one of its own and silence means failure.
  finding=$(
    [ -z "$setup" ] || eval "$setup" >/dev/null 2>&1 || exit
    [ -n "$python" ] || python=$(command -v python3 || command -v python)
    [ -n "$python" ] || { echo 'python bad no python3'; exit; }
    found=$(bounded "$python" -c '
import sys
from importlib import metadata
words = [sys.executable, "%d.%d.%d" % sys.version_info[:3]]
for name in ("sglang", "vllm", "torch"):
    try:
        words.append(name + " " + metadata.version(name))
    except metadata.PackageNotFoundError:
        pass
print(", ".join(words))' 2>&1) && echo "python ok $found" || echo "python bad $python: $(printf '%s' "$found" | tail -n 1)"
  )
  printf '%s\n' "${finding:-python bad setup failed: $setup}"
done
