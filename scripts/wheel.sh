#!/bin/sh
# wheel.sh PYTHON   Builds dist/*.whl and proves it: installed alone into a new environment, it plays the demo's journey.
set -eu
python=$1
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

rm -rf "$here/dist"
if ! "$python" -m build --wheel --outdir "$here/dist" "$here" >"$work/build.log" 2>&1 </dev/null; then
  cat "$work/build.log" >&2
  "$here/scripts/pip-failure.sh" "$work/build.log" >&2
  exit 1
fi
wheel=$(ls "$here"/dist/*.whl)
"$python" -m venv "$work/venv"
if ! "$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel" >"$work/pip.log" 2>&1 </dev/null; then
  "$here/scripts/pip-failure.sh" "$work/pip.log" >&2
  exit 1
fi
cd "$work" # not in the checkout: nothing of it may be imported
env -u PYTHONPATH "$work/venv/bin/k2tui" --version
env -u PYTHONPATH "$work/venv/bin/k2tui" demo --check
echo "$wheel: installed alone, it plays the demo"
