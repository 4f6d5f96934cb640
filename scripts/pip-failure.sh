#!/bin/sh
# pip-failure.sh LOG   What pip's output means, in one line.
set -eu
if grep -qE 'NewConnectionError|ConnectionError|NameResolutionError|Name or service not known|Temporary failure in name resolution|ConnectTimeoutError|ReadTimeoutError|ProxyError|Network is unreachable|Connection refused' "$1"; then
  echo "k2tui: no network: pip can't reach its package index (all of it: $1)"
else
  echo "k2tui: pip failed: $(grep -E '^ *ERROR' "$1" | head -1 | cut -c1-200) (all of it: $1)"
fi
