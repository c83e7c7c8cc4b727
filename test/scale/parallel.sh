#!/bin/bash
# Runs the GNU parallel recipe of `imggen help scale`: four shards over 400 rows, on one shared home. One program is
# killed outright, and the recipe run again. At the end the sandbox must have been sent every row exactly once, and
# every image be there. Needs GNU parallel.
set -euo pipefail
source "$(dirname "$0")/cluster.sh"

recipe 'GNU parallel, on one machine' | grep -v '^npm install' > "$WORK/job.sh"
sed -i 's/--max-credits 50/--max-credits 250/' "$WORK/job.sh"
run() { (cd "$WORK" && PATH="$HOME/.local/bin:$PATH" bash job.sh); }

run > "$WORK/first.log" 2>&1 &
until (($(submits) >= 100)); do sleep 0.2; done
echo "shard 2: its program is killed after $(submits) submits in all"
kill -KILL "$(program_of 2)"
wait $! && fail "the first run ended well" || echo "the first run ended with $?"
run > "$WORK/second.log" 2>&1 && echo "the second run ended well" || echo "the second run ended with $?"
judge
