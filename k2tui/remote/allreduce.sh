# allreduce PYTHON SETUP CWD PATH PYTHONPATH: how fast the GPUs sum a vector up, with other NCCL settings each time; no weights
# are loaded. stdin: the size of allreduce.py in bytes, its text, then one JSON line that says what to look at; stdin stays open
# as a leash, and its end ends everything. stdout: the JSON lines of allreduce.py. Each may be empty but PYTHON.
python=$1 cwd=$3
fail() { trap - EXIT; printf '{"type": "error", "message": "%s"}\n' "$1"; exit 0; }
case $cwd in '') ;; '~') cwd=$HOME ;; '~/'*) cwd=$HOME/${cwd#'~/'} ;; esac
[ -z "$cwd" ] || cd -- "$cwd" 2>/dev/null || fail 'its directory is not there'
[ -z "$4" ] || PATH=$4
[ -z "$5" ] || { PYTHONPATH=$5 && export PYTHONPATH; }
trap 'fail "its setup line failed"' EXIT # a line that fails may end the shell
[ -z "$2" ] || eval "$2" </dev/null >/dev/null 2>&1 || exit
trap - EXIT
case $python in '~/'*) python=$HOME/${python#'~/'} ;; esac
case $python in
  */vllm | vllm | */sglang | sglang)
    found=$(command -v -- "$python") || fail 'the program that runs the server is not there'
    python=$(sed -n -e '1s/^#! *\([^ ]*python[^ ]*\).*/\1/p' -e "2s/^'''exec' *\"*\([^\" ]*python[^\" ]*\).*/\1/p" "$found" | head -n 1)
    [ -n "$python" ] || python=${found%/*}/python3
    ;;
esac
command -v -- "$python" >/dev/null 2>&1 || fail 'the python that runs the server is not there'
# The program comes through stdin, and what follows it stays there for the program itself.
exec "$python" -c '
import os, sys
def read(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            sys.exit(0)
        data += part
    return data
line = b""
while not line.endswith(b"\n"):
    line += read(1)
exec(compile(read(int(line)), "allreduce", "exec"), {"__name__": "k2tui_allreduce"})
'
