# measure PYTHON SETUP CWD; stdin: the length in bytes of loadgen.py's text, its text, one JSON line with what to measure, and
# then nothing: when stdin closes, the measurement ends. PYTHON runs it; empty, or an engine's own program: the first python3.
# SETUP and CWD may be empty. Prints what loadgen.py prints: JSON lines, the last of which is of the type "end".
python=$1 setup=$2 cwd=$3
none() {
  trap - EXIT
  said=$(printf %s "$2" | tr -d '\000-\037\177' | sed 's/[\\"]/\\&/g')
  printf '{"type":"error","code":"%s","message":"%s"}\n{"type":"end","wall_s":0}\n' "$1" "$said"
  exec >&- && cat >/dev/null # who sends the program is not cut off
  exit 0
}
case $cwd in '') ;; '~') cwd=$HOME ;; '~/'*) cwd=$HOME/${cwd#'~/'} ;; esac
[ -z "$cwd" ] || cd -- "$cwd" 2>/dev/null || none no_directory "there is no directory $cwd on the node"
trap 'none setup_failed "the setup line failed"' EXIT # a line that fails may end the shell
[ -z "$setup" ] || eval "$setup" </dev/null >/dev/null 2>&1 || exit
trap - EXIT
case $python in '' | */vllm | vllm | */sglang | sglang) python=python3 ;; '~/'*) python=$HOME/${python#'~/'} ;; esac
command -v -- "$python" >/dev/null 2>&1 || none no_python "there is no $python on the node to measure with"
exec "$python" -S -c '
import sys
stdin = getattr(sys.stdin, "buffer", sys.stdin)
text = stdin.read(int(stdin.readline()))
if sys.version_info < (3, 8):
    said = "Python 3.8 or later is needed to measure, this is %d.%d" % sys.version_info[:2]
    sys.stdout.write("{\"type\":\"error\",\"code\":\"old_python\",\"message\":\"%s\"}\n{\"type\":\"end\",\"wall_s\":0}\n" % said)
else:
    exec(compile(text.decode(), "loadgen", "exec"))
'
