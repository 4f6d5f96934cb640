"""Programs that stand in front of a demo node's own, so that a fault shows through them as through the real ones."""

from __future__ import annotations

import sys
from collections.abc import Mapping

# df: what the system's says, but for the file system that df.fault names: that one is full.
_DF = """#!/bin/sh
node=${0%/bin/*}
PATH=${PATH#"$node/bin:"}
[ -r "$node/df.fault" ] || exec df "$@"
read -r full <"$node/df.fault"
df "$@" | while read -r system total used free share mount; do
  [ "$mount" != "$full" ] || used=$total free=0 share=100%
  printf '%s %s %s %s %s %s\\n' "$system" "$total" "$used" "$free" "$share" "$mount"
done
"""

# date: the system's, but as many seconds ahead as clock.skew says.
_DATE = """#!/bin/sh
node=${0%/bin/*}
PATH=${PATH#"$node/bin:"}
[ -r "$node/clock.skew" ] || exec date "$@"
read -r ahead <"$node/clock.skew"
now=$(date +%s.%N)
exec date -d "@$((${now%.*} + ahead)).${now#*.}" "$@"
"""

# dmesg: nothing of the real machine's; refused to who may not read the kernel's log.
_DMESG = """#!/bin/sh
if [ -e "${0%/bin/*}/kernel.denied" ]; then
  echo 'dmesg: read kernel buffer failed: Operation not permitted' >&2
  exit 1
fi
echo '[    0.000000] Linux version 6.18'
"""

# A login shell whose rc files print `noise` bytes first; in lines, as a conda or a module system that complains.
_NOISY = """#!/bin/sh
node=${0%/bin/*}
read -r bytes <"$node/rc.noise"
yes 'rc file of this login: loading the environment, please wait' | head -c "$bytes"
echo 'rc file: no terminal' >&2
exec /bin/sh "$@"
"""

# fish and tcsh, as far as a command that comes by SSH can tell: neither knows sh's assignments, its redirections of
# numbered files or its loops, tcsh takes `!` and a newline in quotes amiss, and both run a plain `exec PROGRAM WORDS`.
_FOREIGN = """#!{python} -SE
import os
import re
import sys

name = os.path.basename(sys.argv[0])
line = sys.argv[2] if sys.argv[1:2] == ["-c"] and len(sys.argv) == 3 else ""
if name == "tcsh" and "!" in line:
    sys.exit("Event not found.")
if name == "tcsh" and "\\n" in line:
    sys.exit("Unmatched '''.")
if re.fullmatch(r"exec( ([\\w./%+:@,-]+|'[^']*'))+", line) is None:
    sys.exit(f"{{name}}: this is no command of mine: {{line[:80]}}")
words = [word.strip("'") for word in re.findall(r"[\\w./%+:@,-]+|'[^']*'", line)]
os.execvp(words[1], words[1:])
"""


def tools() -> Mapping[str, str]:
    """Name and text of each."""
    foreign = _FOREIGN.format(python=sys.executable)
    return {"df": _DF, "date": _DATE, "dmesg": _DMESG, "noisy-sh": _NOISY, "fish": foreign, "tcsh": foreign}
