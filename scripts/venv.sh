#!/bin/sh
# venv.sh DIRECTORY [PYTHON]   Makes the virtual environment when it is missing, and installs k2tui with its dev extra into it in
# editable mode. Quiet; a failure is one line. DIRECTORY/.k2tui-ready is written last.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
venv=$1
python=${2:-}

if [ ! -x "$venv/bin/python" ]; then
  if [ -z "$python" ] && ! python=$("$here/scripts/python.sh"); then
    if command -v python3 >/dev/null 2>&1 && python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
      "$here/scripts/need.sh" :python3-venv # Debian's python3 comes without it
      python=$("$here/scripts/python.sh")
    else
      echo "k2tui: no Python 3.10 or later with the venv module was found" >&2
      exit 1
    fi
  fi
  echo "k2tui: making $venv with $("$python" --version)" >&2
  "$python" -m venv "$venv"
fi

log=$venv/pip.log
echo "k2tui: installing k2tui and its tools into $venv" >&2
if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$here[dev]" >"$log" 2>&1 </dev/null; then
  "$here/scripts/pip-failure.sh" "$log" >&2
  exit 1
fi
: >"$venv/.k2tui-ready"
