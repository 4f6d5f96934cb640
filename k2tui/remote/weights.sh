# weights MODEL REVISION CWD DOWNLOAD_DIR [CACHE]...: a model's weight files as they lie on the node, in the words that
# core/checkpoint.py reads. MODEL is a directory (~, or below CWD) or a name of the Hugging Face hub; a name is looked for in
# DOWNLOAD_DIR alone where that is given, else in the first CACHE that has it, else where this shell's environment says.
# Reads only, and no tensor: names and sizes, the index, the page cache, then headers. Each step is bounded in time.
# A record ends in "/" and a newline, which no file name holds both of.
export LC_ALL=C
unset CDPATH
model=$1 revision=$2 cwd=$3 download=$4
shift 4
nl='
'
limited() { if command -v timeout >/dev/null 2>&1; then timeout -s KILL "$@"; else shift && "$@"; fi 2>/dev/null; }
expanded() { case $1 in "~") K2_PATH=$HOME ;; "~/"*) K2_PATH=$HOME/${1#"~/"} ;; *) K2_PATH=$1 ;; esac; }
uptime() { K2_UP=0; { read -r K2_UP _ </proc/uptime; } 2>/dev/null; K2_UP=${K2_UP%%.*}; }
in_time() { uptime; [ $((K2_UP - began)) -lt 12 ]; }
none() { echo 'none/'; echo k2end; exit 0; }
there() { [ -e "$1" ] || [ -h "$1" ]; }

expanded "${cwd:-"~"}"
cd -- "$K2_PATH" 2>/dev/null || cd /
expanded "$model"
directory=$K2_PATH
hub=
if [ ! -d "$directory" ]; then
  case $model$revision in *..* | *"$nl"*) none ;; esac
  case $model in '' | [/.~-]* | */ | */*/*) none ;; */*) folder=models--${model%/*}--${model#*/} ;; *) folder=models--$model ;; esac
  if [ -n "$download" ]; then
    set -- "$download"
  elif [ $# = 0 ]; then
    set -- "${HF_HUB_CACHE-}" "${HUGGINGFACE_HUB_CACHE-}" "${HF_HOME:+$HF_HOME/hub}" \
      "${XDG_CACHE_HOME:+$XDG_CACHE_HOME/huggingface/hub}" "~/.cache/huggingface/hub"
  fi
  for cache in "$@"; do
    expanded "$cache"
    [ -n "$cache" ] && [ -d "$K2_PATH/$folder/snapshots" ] || continue
    hash=
    { read -r hash <"$K2_PATH/$folder/refs/${revision:-main}"; } 2>/dev/null
    hub=$K2_PATH/$folder directory=$K2_PATH/$folder/snapshots/${hash:-${revision:-main}}
    break
  done
  [ -n "$hub" ] && [ -d "$directory" ] || none
fi
cd -- "$directory" 2>/dev/null || none
case $PWD in *"$nl"*) none ;; esac
uptime
began=$K2_UP
printf 'k2weights 1/\npath %s/\n' "$PWD"

# told TAG FILE...: mode, size and name of each, links followed. K2_TOLD keeps what was said.
told() {
  [ $# -le 4097 ] || return
  k2_tag=$1
  shift
  K2_TOLD=$(limited 10 stat -Lc "$k2_tag %f %s %n/" -- "$@")
  [ -z "$K2_TOLD" ] || printf '%s\n' "$K2_TOLD"
}
set -- *.incomplete *.part *.aria2 .cache/huggingface/download/*.incomplete ${hub:+../../blobs/*.incomplete}
told l "$@"
set -- *.safetensors
if there "$1"; then kind=safetensors; else
  kind=bin
  set -- *.bin
  there "$1" || set -- *.pt
  there "$1" || { echo k2end; exit 0; }
fi
told f "$@"
[ $# -le 4096 ] || { echo k2end; exit 0; }

# The index can be 20 MB: only the names in it and its total leave the node, and only when it was read to its end.
if [ -f model.safetensors.index.json ]; then
  { limited 5 cat model.safetensors.index.json && echo '"k2whole"'; } | tr '"' '\n' |
    sed -n -e '/\.safetensors$/p' -e '/^k2whole$/p' -e '/^total_size$/{' -e n -e 's/^[^0-9]*\([0-9]*\).*/=\1/p' -e '}' |
    sort -u | head -n 4096 | cut -c 1-2000 | sed 's|.*|i &/|'
fi

# From here on only what can be read counts; the others have told their size.
bad=
for file in "$@"; do
  if [ -h "$file" ] && [ ! -e "$file" ]; then printf 'd %s/\n' "$file"; fi
  [ -f "$file" ] && [ -r "$file" ] && [ -s "$file" ] || bad=1
done
if [ -n "$bad" ]; then
  for file in "$@"; do
    shift
    if [ -f "$file" ] && [ -r "$file" ] && [ -s "$file" ]; then set -- "$@" "$file"; fi
  done
fi
[ $# -gt 0 ] || { echo k2end; exit 0; }

# paired TAG NUMBERS FILE...: a record for each file with its number; false when they are not as many.
paired() {
  k2_tag=$1 k2_numbers=$2
  shift 2
  k2_n=0
  for k2_x in $k2_numbers; do k2_n=$((k2_n + 1)); done
  [ $k2_n = $# ] || return 1
  for k2_x in $k2_numbers; do
    printf '%s %s %s/\n' "$k2_tag" "$k2_x" "$1"
    shift
  done
}
if command -v fincore >/dev/null 2>&1; then
  paired c "$(limited 10 fincore -b -n -o RES -- "$@")" "$@"
elif command -v vmtouch >/dev/null 2>&1; then
  pages=$(limited 10 vmtouch -- "$@" | sed -n 's|.*Resident Pages: *\([0-9][0-9]*\)/.*|\1|p')
  [ -z "$pages" ] || printf 'cached %s/\n' $((pages * $(getconf PAGESIZE 2>/dev/null || echo 4096)))
fi
[ $kind = safetensors ] || { echo k2end; exit 0; }

# The first eight bytes of each as a number: the length of its header. One of fewer bytes would shift the rest of the row.
first() { limited 5 head -qc 8 -- "$@" | od -An -v -tu8; }
numbers=
case $nl$K2_TOLD in *"$nl"f\ ????\ [1-7]\ *) ;; *) numbers=$(first "$@") ;; esac
if ! paired h "$numbers" "$@"; then
  numbers=
  for file in "$@"; do
    in_time || break
    number=$(first "$file")
    number=${number##* }
    numbers="$numbers ${number:--}"
    [ -z "$number" ] || printf 'h %s %s/\n' "$number" "$file"
  done
fi

# What the headers say of the last tensor's end, by the place of the file among the "h" records.
left=67108864 place=0
for number in $numbers; do
  file=$1
  shift
  [ "$number" != - ] || continue
  place=$((place + 1))
  case $number in ????????*) continue ;; esac
  [ "$number" -le 4194304 ] && [ "$number" -le $left ] || continue
  in_time || break
  left=$((left - number))
  printf '\nk2file %s\n' $place
  limited 5 head -c $((number + 8)) -- "$file" || { printf '\nk2cut\n'; break; }
done | tr -d '\000' | tr ']' '\n' | awk '
  /^k2file [0-9]+$/ { if (end != "") print "t " place " " end "/"; place = $2; end = ""; next }
  $0 == "k2cut" { end = ""; next }
  match($0, /"data_offsets" *: *\[ *[0-9]+ *, *[0-9]+ *$/) {
    found = substr($0, RSTART)
    gsub(/.*,|[^0-9]/, "", found)
    if (length(found) > length(end) || (length(found) == length(end) && found "" > end "")) end = found
  }
  END { if (end != "") print "t " place " " end "/" }' 2>/dev/null
echo k2end
