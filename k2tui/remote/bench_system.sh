# bench_system DIRECTORY LINKS: what of a measured system only its node can tell, a word and a value a line: `revision`, the
# SHA-256 of the model's config.json; `quantization`, the method that stands in it; with LINKS, `topology`: the SHA-256 of
# how the GPUs are linked. DIRECTORY may begin with ~. What can't be told has no line. Reads only.
export LC_ALL=C
limited() { if command -v timeout >/dev/null 2>&1; then timeout -s KILL "$@"; else shift && "$@"; fi 2>/dev/null; }
mark() { limited 5 sha256sum | sed -n "s/^\([0-9a-f]\{64\}\).*/$1 \1/p"; }
case $1 in '~/'*) config=$HOME/${1#'~/'}/config.json ;; *) config=$1/config.json ;; esac
if [ -f "$config" ] && [ -r "$config" ]; then
  mark revision <"$config"
  method=$(limited 5 head -c 1000000 "$config" | tr '\n' ' ' |
    sed -n 's/.*"quant_method"[[:space:]]*:[[:space:]]*"\([A-Za-z0-9_.-]\{1,40\}\)".*/\1/p')
  [ -z "$method" ] || printf 'quantization %s\n' "$method"
fi
if [ -n "$2" ]; then
  links=$(limited 8 nvidia-smi topo -m)
  [ -z "$links" ] || printf '%s\n' "$links" | mark topology
fi
:
