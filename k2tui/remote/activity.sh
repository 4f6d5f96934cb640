# activity [SESSION [CHILD]]: what moves on the node now, in words that core/activity.py reads. Changes nothing; three forks.
#   k2act 1 BOOT UP                              first; UP = seconds since the boot
#   disk SECTORS                                 read by all physical disks, 512 bytes each
#   net BYTES                                    received by the network cards, RDMA too
#   proc PID START_TICKS STATE CPU_TICKS RCHAR READ_BYTES NAME    a process of the session; "-" where it may not be read
#   tool NAME                                    a compiler of the session; without a session, of this user
# SESSION: the session of a run; without it CHILD's session, when CHILD is given.
export LC_ALL=C
session=$1
case $session$2 in *[!0-9]*) exit 2 ;; esac
if [ -z "$session" ] && [ -n "$2" ] && k2_stat "$2"; then session=$K2_SID; fi
exec 2>/dev/null
read -r up _ </proc/uptime
printf 'k2act 1 %s %s\n' "$K2_BOOT" "$up"

# partitions, device mapper and RAID repeat what their disks have read
sum=
while read -r _ _ name _ _ sectors _; do
  case $name in nvme*c[0-9]*n[0-9]*) continue ;; esac # one path of several to the same disk
  if [ -e /sys/block ]; then
    [ -e "/sys/block/$name/device" ] || continue
  else
    case $name in loop* | ram* | zram* | dm-* | md* | sr* | [shvx]*[0-9] | *p[0-9] | *p[0-9][0-9]) continue ;; esac
  fi
  sum=$((${sum:-0} + sectors))
done </proc/diskstats
[ -z "$sum" ] || echo "disk $sum"

# bridges and bonds repeat what their cards have received; a container has no card, only its end of a pair
cards= all=
while read -r line; do
  name=${line%%:*}
  case $line in lo:* | [!:]*"|"*) continue ;; esac
  line=${line#*:}
  line=${line#"${line%%[0-9]*}"}
  all=$((${all:-0} + ${line%%[!0-9]*}))
  [ ! -e "/sys/class/net/$name/device" ] || cards=$((${cards:-0} + ${line%%[!0-9]*}))
done </proc/net/dev
sum=${cards:-$all}
for port in /sys/class/infiniband/*/ports/*/counters/port_rcv_data; do
  if read -r words <"$port"; then # of four bytes
    case $words in '' | *[!0-9]*) ;; *) sum=$((${sum:-0} + 4 * words)) ;; esac
  fi
done
[ -z "$sum" ] || echo "net $sum"

# compilers by the name of their program, which the kernel cuts after 15 characters
tool() {
  case $1 in
    nvcc | cicc | ptxas* | fatbinary | nvlink | cudafe++ | ninja | hipcc) ;;
    cc | cc1 | cc1plus | c++ | c++-* | g++ | g++-* | gcc | gcc-* | *-linux-gn* | clang | clang-* | clang++*) ;;
    ld | ld.* | collect2 | as) ;;
    *) return 1 ;;
  esac
}

# one grep reads every process's stat, a second one finds the members that gave themselves a name: the shell itself reads
# byte by byte, and looks only at what they leave
if [ -n "$session" ]; then
  wanted="\\) [A-Za-z] [0-9]+ [0-9]+ $session "
else
  wanted='\((nvcc|cicc|ptxas|fatbinary|nvlink|cudafe|ninja|hipcc|cc|c[+]|g[+]|gcc|clang|ld|collect2|as|[a-z0-9_]*-linux-gn)[^)]*\) [A-Z] '
fi
cd /proc || exit

member() { # LINE: "PID/stat:PID (NAME) STATE ..."
  pid=${1%%/*} name=${1#*\(}
  name=${name%)*}
  # shellcheck disable=SC2086 # splitting is the point
  set -- ${1##*) }
  # $4: session, $12 and $13: ticks as a user and in the kernel, $20: start
  case $1 in Z | X | x) return ;; esac
  if [ -n "$session" ]; then
    [ "$4" = "$session" ] || return
  else
    [ -O "$pid" ] || return
  fi
  if tool "$name"; then
    echo "tool $name"
    return
  fi
  [ -n "$session" ] || return
  case $titled in
    *" $pid/"*)
      title=
      IFS= read -r title <"$pid/cmdline"
      case $title in [A-Za-z]*::*) name=${title%% *} ;; esac
      ;;
  esac
  rchar=- bytes=-
  while read -r key value; do
    case $key in
      rchar:) rchar=$value ;;
      read_bytes:) bytes=$value; break ;;
    esac
  done <"$pid/io"
  echo "proc $pid ${20-} $1 $((${12} + ${13})) $rchar $bytes $name"
}

lines=$(grep -sE "$wanted" [0-9]*/stat /dev/null)
set -f
IFS='
'
# shellcheck disable=SC2086
set -- $lines
unset IFS
titled=
if [ -n "$session" ]; then
  for line in "$@"; do titled="$titled ${line%%/*}/cmdline"; done
  # shellcheck disable=SC2046,SC2086
  titled=" $(echo $(grep -lsE '^[A-Za-z]+::' $titled /dev/null)) "
fi
for line in "$@"; do member "$line"; done
echo k2end
