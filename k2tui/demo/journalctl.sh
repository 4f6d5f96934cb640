#!/bin/sh
# journalctl as a demo node has it: a link bin/journalctl in the node's directory points here.
#   kernel.log   the kernel's messages as `journalctl -k -o short-unix` prints them, oldest first:
#                `1796000123.456789 gpu-a kernel: NVRM: Xid (PCI:0000:4c:00): 79, pid=4711, GPU has fallen off the bus.`
#   kernel.denied   as long as it is there, this login may not read them
# Knows --since=@EPOCH and -n COUNT; other words are taken as `-k -o short-unix` would be.
export LC_ALL=C
node=${0%/bin/*}
since=0; most=1000000
while [ $# -gt 0 ]; do
  case $1 in
    --since=@*) since=${1#*@} ;;
    -n) most=$2; shift ;;
  esac
  shift
done
if [ -e "$node/kernel.denied" ]; then
  echo 'Hint: You are currently not seeing messages from other users and the system.' >&2
  echo 'No journal files were opened due to insufficient permissions.' >&2
  exit 1
fi
found=
if [ -r "$node/kernel.log" ]; then
  found=$(tail -n "$most" "$node/kernel.log" | while read -r at words; do
    case $at in '' | *[!0-9.]*) continue ;; esac
    [ "${at%%.*}" -lt "$since" ] || printf '%s %s\n' "$at" "$words"
  done)
fi
if [ -n "$found" ]; then
  printf '%s\n' "$found"
else
  # with a word of the kernel in it, this is a log without errors and not a log that is missing
  [ "$since" != 0 ] && echo '-- No entries --' || echo '0000000000.000000 demo kernel: Linux version 6.18'
fi
