# find_servers [PID...]: the engines that run here, whoever started them, and the processes PID... that hold a GPU, in
# words that core/foreign/report.py reads. Changes nothing; some twenty forks, however many processes there are.
#   k2found 1 BOOT BTIME UP                    first; unix time and age in seconds of the boot
#   t PID/cmdline:WORD                         of a process's title, or of the beginning of its command line
#   s PID/stat:...                             as the kernel has it, ancestors too
#   u PID/status:Uid: UID ...                  as the kernel has it
#   user UID NAME
#   a PID/cmdline:ARGUMENT                     of what may be an engine's main process: exactly; a newline in it is \001
#   e PID/environ:NAME=VALUE                   of its environment what is allowed to leave the node
#   g PID/cgroup:...                           of its control groups what names a container or a job
#   fd PID NUMBER file|elsewhere|other TARGET  where its output goes; elsewhere: deleted, or in a container's files
#   cwd PID PATH
#   closed PID environ|fd                      may not be read
#   listen PORT UID INODE                      every listening TCP socket of the host, the port in hexadecimal digits
#   own PID INODE                              the process holds that socket
# Where several nodes share a machine (a simulated fleet), K2TUI_ONLY is a NAME=VALUE that this node's processes carry.
# shellcheck disable=SC2046,SC2086 # splitting is the point
export LC_ALL=C
for pid in "$@"; do case $pid in '' | *[!0-9]*) exit 2 ;; esac; done
exec 2>/dev/null
cd /proc || exit
nl='
'
read -r up _ <uptime
printf 'k2found 1 %s %s %s\n' "$K2_BOOT" "$(sed -n '/^btime /{s///p;q;}' stat)" "$up"

# one grep reads every command line; an argument is a record of it, so that a file that is only named like an engine,
# or a script that speaks of one, is none
main='sglang\.launch_server|vllm\.entrypoints\..*|(.*/)?(sglang|vllm)|.*/sglang/launch_server\.py|.*/vllm/entrypoints/.*\.py'
named=$(grep -lszE "^((sglang|VLLM)::.*|$main)\$" [0-9]*/cmdline /dev/null | head -n 600)
if [ -n "${K2TUI_ONLY-}" ]; then
  ours=
  for file in $named; do ours="$ours ${file%/*}/environ"; done
  ours=$(grep -lszxF "$K2TUI_ONLY" $ours /dev/null)
  named=
  for file in $ours; do named="$named ${file%/*}/cmdline"; done
fi
titled=" $(echo $(grep -lsE '^(sglang|VLLM)::' $named /dev/null)) "
mains=' ' count=0
for file in $named; do
  case $titled in *" $file "*) continue ;; esac
  [ $count -lt 40 ] || break
  mains="$mains${file%/*} " count=$((count + 1))
done
known=$mains
for file in $titled; do known="$known${file%/*} "; done
for pid in "$@"; do case $known in *" $pid "*) ;; *) known="$known$pid " ;; esac; done

files() { # NAME PID...: the file NAME of each
  name=$1 files=
  shift
  for pid in "$@"; do files="$files $pid/$name"; done
}
set -f
files cmdline $known
grep -m 30 -oszHE '^[ -~]+' $files /dev/null | tr '\000' '\n' | cut -c 1-300 | head -n 5000 | sed 's/^/t /'

# then the ancestors of what is no main process, as far as they are not known: an engine may be among them
look=$known rounds=0
while [ -n "${look# }" ] && [ $rounds -lt 10 ]; do
  files stat $look
  lines=$(grep -sE '\) [A-Za-z] [0-9]+ [0-9]+ [0-9]+ ' $files /dev/null)
  look=' ' rounds=$((rounds + 1))
  IFS=$nl
  for line in $lines; do
    unset IFS
    echo "s $line"
    case $mains in *" ${line%%/*} "*) continue ;; esac
    line=${line##*") "}
    line=${line#* }
    parent=${line%% *}
    case $known in *" $parent "*) continue ;; esac
    [ "$parent" -gt 1 ] || continue
    known="$known$parent " look="$look$parent "
  done
  unset IFS
done

files status $known
uids=$(grep -sH '^Uid:' $files /dev/null)
[ -z "$uids" ] || printf '%s\n' "$uids" | sed 's/^/u /'
uids=$(printf '%s\n' "$uids" | cut -f 2 | sort -u)
[ -z "$uids" ] || {
  getent passwd $uids || grep -E "^[^:]*:[^:]*:($(echo $uids | tr ' ' '|')):" /etc/passwd
} | sed -nE 's/^([^:]*):[^:]*:([0-9]+):.*/user \2 \1/p'

if [ "$mains" != ' ' ]; then
  files cmdline $mains
  grep -szH '' $files /dev/null | tr '\000\n' '\n\001' | head -c 2000000 | sed 's/^/a /'
  echo
  allowed='NCCL|RCCL|CUDA|SGLANG|SGL|VLLM|TORCH|TORCHINDUCTOR|PYTORCH|TRITON|FLASHINFER|OMP|MKL|HIP|ROCR|HSA|GLOO|UCX'
  allowed="(($allowed|NVSHMEM|NVTE|DUMPER|DG|MC|MOONCAKE|TRANSFORMERS|HF_HUB)_[A-Z0-9_]*|HF_HOME|HF_ENDPOINT|PYTHONPATH"
  allowed="$allowed|PYTHONUNBUFFERED|LD_LIBRARY_PATH|LD_PRELOAD|VIRTUAL_ENV|CONDA_PREFIX|TMUX_PANE|STY|SPT_NOENV)"
  files environ $mains
  grep -szH '' $files /dev/null | tr '\000\n' '\n\001' | sed -nE \
    -e '/^[0-9]+\/environ:(NCCL|CUDA)_[A-Z0-9_]*=/b told' \
    -e '/^[^=]*(TOKEN|KEY|SECRET|PASS|PWD|AUTH|CREDENTIAL|COOKIE)/d' \
    -e "/^[0-9]+\/environ:$allowed=/!d" \
    -e ': told' -e 's/^/e /p' | cut -c 1-4000 | head -c 1000000
  echo
  files cgroup $mains
  grep -sHE 'docker|containerd|libpod|crio|kubepods|lxc|slurm|\.service' $files /dev/null | head -n 200 | cut -c 1-500 | sed 's/^/g /'

  # listening sockets stand in front of all others there
  listening=$(for file in net/tcp net/tcp6; do
    sed -nE -e 1d -e '/^ *[0-9]+: [0-9A-F:]+ [0-9A-F:]+ 0A /!q' \
      -e 's/^ *[0-9]+: [0-9A-F]+:([0-9A-F]+) [^ ]+ 0A [^ ]+ [^ ]+ [^ ]+ +([0-9]+) +[0-9]+ ([0-9]+) .*/listen \1 \2 \3/p' $file
  done | head -n 600)
  [ -z "$listening" ] || printf '%s\n' "$listening"
  inodes=
  for word in $listening; do inodes="${inodes:+$inodes|}$word"; done
  for pid in $mains; do
    true <"$pid/environ" || echo "closed $pid environ"
    if ! readlink "$pid/fd/1" >/dev/null && ! readlink "$pid/fd/2" >/dev/null; then
      echo "closed $pid fd"
      continue
    fi
    for fd in 1 2; do
      target=$(readlink "$pid/fd/$fd") || continue
      case $target in *"$nl"*) continue ;; esac
      what=other
      if [ -f "$pid/fd/$fd" ]; then
        if [ "$target" -ef "$pid/fd/$fd" ]; then what=file; else what=elsewhere; fi
      fi
      echo "fd $pid $fd $what $target"
    done
    target=$(readlink "$pid/cwd")
    case $target in '' | *"$nl"*) ;; *) echo "cwd $pid $target" ;; esac
    [ -z "$inodes" ] || ls -ln "$pid/fd" | sed -nE "s/.* -> socket:\[($inodes)\]\$/own $pid \1/p"
  done
fi
echo k2end
