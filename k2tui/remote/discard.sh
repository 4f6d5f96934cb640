# discard RUNDIR: takes a planned run away. Says "discarded", or why not: "refused CODE".
umask 077
if [ ! -d "$1" ]; then
  echo discarded
elif [ -e "$1/state.json" ]; then
  echo 'refused not_planned'
elif k2_discard "$1"; then
  echo discarded
elif [ -e "$1/state.json" ]; then
  echo 'refused not_planned'
else
  echo 'refused start_in_progress'
fi
