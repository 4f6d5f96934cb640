# read_build ENGINE STAMP CWD SETUP PROGRAM PATH PYTHONPATH IMAGE; stdin: the text of read_build.py. PROGRAM is the python that
# runs the server, or the engine's own program, whose python is the one that it names in its first lines. With IMAGE it is
# the image's. Prints the JSON of read_build.py, or "k2none" and why there is none. CWD, SETUP, PATH and PYTHONPATH may be empty.
engine=$1 stamp=$2 cwd=$3 setup=$4 program=$5 image=$8
none() { trap - EXIT; printf 'k2none %s\n' "$*"; exit 0; }
bounded() { if command -v timeout >/dev/null 2>&1; then timeout -k 5 110 "$@"; else "$@"; fi; }
how=module
case $program in */vllm | vllm | */sglang | sglang) how=script ;; esac
if [ -n "$image" ]; then
  tool=$(command -v docker || command -v podman) || none "there is no docker on the node to look into $image with"
  [ $how = module ] || program=python3
  bounded "$tool" run --rm -i --pull never --network none --entrypoint "$program" "$image" - "$engine" "$stamp" "$how"
  exit
fi
case $cwd in '') ;; '~') cwd=$HOME ;; '~/'*) cwd=$HOME/${cwd#'~/'} ;; esac
[ -z "$cwd" ] || cd -- "$cwd" 2>/dev/null || none "there is no directory $cwd"
[ -z "$6" ] || PATH=$6
[ -z "$7" ] || { PYTHONPATH=$7 && export PYTHONPATH; }
trap 'none "its setup line failed"' EXIT # a line that fails may end the shell
[ -z "$setup" ] || eval "$setup" </dev/null >/dev/null 2>&1 || exit
trap - EXIT
case $program in '~/'*) program=$HOME/${program#'~/'} ;; esac
found=$(command -v -- "$program") || none "there is no $program on the node"
if [ $how = script ]; then
  # A long path does not fit behind #!, so an installer writes it behind exec in the second line.
  python=$(sed -n -e '1s/^#! *\([^ ]*python[^ ]*\).*/\1/p' -e "2s/^'''exec' *\"*\([^\" ]*python[^\" ]*\).*/\1/p" "$found" | head -n 1)
  [ -n "$python" ] || python=${found%/*}/python3
  found=$(command -v -- "$python") || none "$program does not say which python runs it"
fi
bounded "$found" - "$engine" "$stamp" "$how"
