#!/bin/sh
# python.sh [VERSION]   Prints a Python that works and can make a virtual environment: 3.11, else 3.13, 3.12, 3.10, else any
# python3 from 3.10 on. With VERSION (such as 3.10) only that one. Exit 1 when there is none.
set -eu
works() {
  "$1" -c 'import ensurepip, ssl, sys, venv; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1
}
if [ $# -gt 0 ]; then
  set -- "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python
else
  set -- python3.11 python3.13 python3.12 python3.10 python3
fi
for candidate in "$@"; do
  if works "$candidate"; then
    command -v "$candidate"
    exit 0
  fi
done
exit 1
