# prepare HOME SERVER_DIR PORT GPUS RESTARTS WINDOW_S DELAY_S WHO KEPT_BY NAME REPLACES; stdin: what plan_run.sh reads.
# Writes the run's directory and starts nothing: begin or discard comes later, perhaps from another machine. Says "planned"
# and the run in the words of scan.sh, or "refused CODE" and its details.
k2_plan "$@"
echo planned
k2_tell "$dir"
