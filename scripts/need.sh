#!/bin/sh
# need.sh COMMAND:PACKAGE ...   Installs the Debian package of each command that this machine lacks, or says which ones to install.
set -eu
PATH=$PATH:/usr/sbin:/sbin
export PATH

missing=
for pair in "$@"; do
  command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair#*:}"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
  echo "k2tui: this needs$missing; there is no apt-get here: install them with this system's package manager" >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then
  as_root=
elif command -v sudo >/dev/null 2>&1; then
  as_root=sudo
else
  echo "k2tui: this needs$missing; as root: apt-get install$missing" >&2
  exit 1
fi

# A test needs the programs, not their services: an sshd on port 22 must not appear because somebody ran the tests.
policy=/usr/sbin/policy-rc.d
ours=
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
  $as_root chmod 755 "$policy"
  ours=1
fi
undo() { [ -z "$ours" ] || $as_root rm -f "$policy"; }
trap undo EXIT
trap 'exit 130' INT TERM

echo "k2tui: installing$missing with apt-get (services stay off)" >&2
log=$(mktemp)
# shellcheck disable=SC2086
if ! { $as_root apt-get update && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1 </dev/null; then
  echo "k2tui: apt-get could not install$missing: $(grep -E '^(E|W|Err)' "$log" | tail -1) (all of it: $log)" >&2
  exit 1
fi
rm -f "$log"
case "$missing" in
  *openssh-server*) if command -v systemctl >/dev/null 2>&1; then $as_root systemctl disable ssh.service ssh.socket >/dev/null 2>&1 || true; fi ;;
esac
