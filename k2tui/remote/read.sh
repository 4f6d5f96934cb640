# read FILE OFFSET SIZE: at most SIZE bytes of FILE from OFFSET on (0 is the first). Exit 1 when it can't be read.
f=$1
case $f in '~/'*) f=$HOME/${f#??} ;; esac
[ -f "$f" ] && [ -r "$f" ] || exit 1
tail -c "+$(($2 + 1))" "$f" 2>/dev/null | head -c "$3"
