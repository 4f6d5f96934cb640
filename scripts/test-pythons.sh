#!/bin/sh
# test-pythons.sh VERSION ...   Runs the tests that need no real engine on each of these Pythons that is installed.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here"
ran= absent= failed=
for version in "$@"; do
  if ! python=$(scripts/python.sh "$version"); then
    absent="$absent $version"
    continue
  fi
  venv=.venv-$version
  if [ ! -e "$venv/.k2tui-ready" ] || [ pyproject.toml -nt "$venv/.k2tui-ready" ]; then
    scripts/venv.sh "$venv" "$python"
  fi
  echo "== Python $version"
  if "$venv/bin/python" -m pytest; then ran="$ran $version"; else failed="$failed $version"; fi
done
echo "passed on:${ran:- none}; failed on:${failed:- none}; not installed:${absent:- none}"
[ -z "$failed" ] && [ -n "$ran" ]
