# follow FILE INODE OFFSET BEFORE: the bytes of a log from OFFSET on, for ever; ends when its stdin closes.
# BEFORE: the up to 64 bytes in front of OFFSET in hex, or nothing; when the file has others there, it is another file.
# Frames, each one line:
#   D inode offset length size   then length raw bytes, then "E": the file did not shrink meanwhile, they are good
#   H inode offset size          nothing new for 5 s, or for the first time
#   R inode                      another file stands there now; it is read from 0
#   T inode                      the file was cut; it is read from 0
#   M why                        missing, denied, or not-a-file; said again every 5 s
# On stdin "pace N", where there is bash: from now on at most one D frame in N quarters of a second.
# Needs: stat -c, tail, head, /proc. With bash an idle log costs one stat in 2 s; else a stat and a sleep in 0.25 s.
export LC_ALL=C
exec 2>/dev/null
f=$1 ino=$2 off=$3 before=$4
case $f in '~/'*) f=$HOME/${f#??} ;; esac
max=1048576
quick=
[ "${BASH_VERSINFO:-0}" -ge 4 ] && quick=1
if [ -z "$quick" ]; then
  exec 3<&0
  (cat >/dev/null; kill -s TERM $$) <&3 >/dev/null &
  exec 3<&-
fi

nap() { # a quarter of a second; the end when stdin closed
  if [ "$quick" ]; then
    words=
    read -r -t 0.25 words
    case $? in
      0) case $words in "pace "[1-9]*) pace=${words#pace } ;; esac ;;
      1) exit 0 ;;
    esac
  else
    sleep 0.25 || sleep 1
  fi
  beat=$((beat + 1))
}

look() { # sizes of the open file and of what the name stands for now
  set -- $(stat -Lc '%i %s' /proc/self/fd/5 "$f")
  size=${2:-0} named=${3:-0}
}

passed() { # COUNT: the bytes in front of the offset, in hex
  tail -c "+$((off - $1 + 1))" /proc/self/fd/5 | head -c "$1" | od -An -v -tx1 | tr -d ' \n'
}

idle() { # until there may be something to see: at most 2 s
  if [ -z "$quick" ]; then nap; return; fi
  if [ "$off" != "$seen" ]; then # a second handle, put where the next byte will be, tells without a process
    exec 4</proc/self/fd/5
    dd bs=1 skip="$off" count=0 <&4 >/dev/null
    seen=$off
  fi
  for _ in 1 2 3 4 5 6 7 8; do
    nap
    c=
    if IFS= read -r -n 1 -u 4 c || [ "$c" ]; then
      seen=
      return
    fi
    [ "$turned" = 0 ] || return
  done
}

gone() { # WHY
  if [ "$why" != "$1" ] || [ "$beat" -ge 20 ]; then
    why=$1 beat=0
    printf 'M %s\n' "$why"
  fi
  nap
}

have= why= beat=20 seen= turned=0 pace=1
while :; do
  if [ -z "$have" ]; then
    if [ ! -e "$f" ]; then gone missing; continue; fi
    if [ ! -f "$f" ]; then gone not-a-file; continue; fi
    if ! command exec 5<"$f"; then gone denied; continue; fi
    set -- $(stat -Lc '%i %s' /proc/self/fd/5)
    have=1 why= seen= turned=0 beat=20
    if [ "$ino" = 0 ]; then
      ino=$1
    elif [ "$ino" != "$1" ]; then
      ino=$1 off=0
      printf 'R %s\n' "$ino"
    elif [ "$before" ] && [ "$2" -ge "$off" ]; then
      if [ "$(passed $((${#before} / 2)))" != "$before" ]; then
        off=0
        printf 'T %s\n' "$ino"
      fi
    fi
    before=
    look
  fi

  if [ "$size" -lt "$off" ]; then
    off=0 seen=
    printf 'T %s\n' "$ino"
  fi
  if [ "$size" -gt "$off" ]; then
    n=$((size - off))
    [ "$n" -gt "$max" ] && n=$max
    printf 'D %s %s %s %s\n' "$ino" "$off" "$n" "$size"
    tail -c "+$((off + 1))" /proc/self/fd/5 | head -c "$n"
    off=$((off + n)) turned=0 beat=0 why=
    look
    [ "$size" -ge "$off" ] || exit 3 # it shrank: how much of the frame was sent is not known; the reader starts anew
    printf 'E\n'
    [ "$n" = "$max" ] && continue
    naps=1
    while [ "$naps" -lt "$pace" ]; do nap; naps=$((naps + 1)); done
  elif [ "$beat" -ge 20 ]; then
    beat=0
    printf 'H %s %s %s\n' "$ino" "$off" "$size"
  fi

  if [ "$named" != "$ino" ]; then # renamed or removed; the rest was read: once more, in case a writer is still at it
    turned=$((turned + 1))
    if [ "$turned" -gt 2 ]; then
      before=$(passed $((off < 64 ? off : 64))) # a new file may get the old one's number
      have=
      exec 5<&- 4<&-
      continue
    fi
  fi
  idle
  look
done
