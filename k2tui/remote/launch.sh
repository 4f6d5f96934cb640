# launch HOME SERVER_DIR PORT GPUS RESTARTS WINDOW_S DELAY_S WHO PATIENCE_S KEPT_BY NAME REPLACES; stdin: what plan_run.sh
# reads. Writes the run's directory, begins it, and waits until the server was started or refused. A refused one is gone.
patience=$9
k2_plan "$1" "$2" "$3" "$4" "$5" "$6" "$7" "$8" "${10}" "${11}" "${12}"
k2_begin "$dir" "$patience" refused
