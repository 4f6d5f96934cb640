# bench_begin HOME ID SETUP CWD PROGRAM CLIENT WORD...: starts sglang's own benchmark, detached, in HOME/benches/ID: `log`
# is what it prints, `out.jsonl` its result without keys, `exit` its code, `state` its session leader. CLIENT: auto (the
# Rust client where the build has it), rust or python. stdin: one line, the API key, perhaps empty. Prints "began CLIENT
# VERSION", or "none" and why. Of earlier ones the newest directories are kept, 20 with this one.
umask 077
home=$1 id=$2 setup=$3 cwd=$4 program=$5 client=$6
shift 6
none() { trap - EXIT; printf 'none %s\n' "$*"; exit 0; }
prune() { # DIRECTORY...: oldest first, as their names are the times at which they began; what still runs stays
  while [ $# -gt 20 ]; do
    boot='' pid='' ticks=''
    read -r boot pid ticks 2>/dev/null <"$1/state"
    k2_alive "$boot" "${pid:-null}" "$ticks" || rm -rf -- "$1"
    shift
  done
}
case $id in '' | *[!A-Za-z0-9-]*) none "$id is no id" ;; esac
IFS= read -r key
case $cwd in '') ;; '~') cwd=$HOME ;; '~/'*) cwd=$HOME/${cwd#'~/'} ;; esac
[ -z "$cwd" ] || cd -- "$cwd" 2>/dev/null || none "there is no directory $cwd on the node"
trap 'none "the setup line failed"' EXIT # a line that fails may end the shell
[ -z "$setup" ] || eval "$setup" </dev/null >/dev/null 2>&1 || exit
trap - EXIT
case $program in '~/'*) program=$HOME/${program#'~/'} ;; esac
python=$(command -v -- "${program:-python3}") || none "there is no ${program:-python3} on the node"
found=$("$python" -c '
import glob, importlib.metadata, importlib.util, os
spec = importlib.util.find_spec("sglang")
where = os.path.dirname(spec.origin) if spec and spec.origin else None
try:
    version = importlib.metadata.version("sglang")
except importlib.metadata.PackageNotFoundError:
    version = "unknown"
if where:
    rust = glob.glob(os.path.join(where, "srt", "rust_extensions", "_bench*.so"))
    rust = rust and os.path.exists(os.path.join(where, "benchmark", "rust_client.py"))
    print("rust" if rust else "python", version)
' 2>/dev/null) || found=
[ -n "$found" ] || none "$python has no sglang"
version=${found#* } has=${found%% *}
[ "$client" != auto ] || client=$has
[ "$client" = python ] || [ "$has" = rust ] || none "sglang $version has no Rust client"
module=sglang.bench_serving
[ "$client" = python ] || module=sglang.benchmark.rust_client
command -v setsid >/dev/null 2>&1 || none "there is no setsid on the node"
k2_root "$home" claim || none "there can't be a directory $home"
dir=$K2_ROOT/benches/$id
mkdir -p "$dir" || none "there can't be a directory $dir"
prune "$K2_ROOT"/benches/*
[ -z "$key" ] || { OPENAI_API_KEY=$key && export OPENAI_API_KEY; }
# Its result tells all of the server's settings, keys among them: they are taken out on the way to the file.
# shellcheck disable=SC2016 # read by the session that it starts
setsid sh -c '
  dir=$1 without_keys=$2 python=$3
  shift 2
  {
    "$@" --output-file /proc/self/fd/3 3>&1 </dev/null >>"$dir/log" 2>&1
    printf "%s\n" $? >"$dir/code"
  } | "$python" -c "$without_keys" >"$dir/out.jsonl" 2>>"$dir/log"
  mv -f "$dir/code" "$dir/exit"' \
  k2tui-bench "$dir" '
import json, os, re, sys
keys = [json.dumps(os.environ.get(name, ""))[1:-1] for name in ("OPENAI_API_KEY", "API_KEY")]
field = re.compile(r"(\"\w*(?:key|token|secret|password)\": ?)\"(?:[^\"\\]|\\.)*\"")
flag = re.compile(r"(--[\w-]*(?:key|token|secret|password)(?:=| +))[^\s\"\\]+")
for line in sys.stdin:
    for key in keys:
        if len(key) > 5:
            line = line.replace(key, "***")
    line = field.sub(lambda found: found.group(1) + "\"***\"", line)
    sys.stdout.write(flag.sub(lambda found: found.group(1) + "***", line))
' "$python" -m "$module" "$@" </dev/null >/dev/null 2>&1 &
child=$!
k2_stat "$child" && printf '%s %s %s\n' "$K2_BOOT" "$child" "$K2_TICKS" >"$dir/state"
printf 'began %s %s\n' "$client" "$version"
