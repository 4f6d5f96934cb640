# log_size FILE: prints "INODE SIZE". Exit 1 when there is no such file, 2 when it is something else.
f=$1
case $f in '~/'*) f=$HOME/${f#??} ;; esac
[ -e "$f" ] || exit 1
[ -f "$f" ] || exit 2
stat -Lc '%i %s' "$f"
