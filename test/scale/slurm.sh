#!/bin/bash
# Runs the Slurm recipe of `imggen help scale` on a cluster of one node, which it starts and stops: an array of four
# shards over 400 rows, on one shared home. One task's program is killed outright, another task is requeued by Slurm;
# both are run again. At the end the sandbox must have been sent every row exactly once, and every image be there.
# Needs root, and Debian's slurm-wlm and munge.
set -euo pipefail
source "$(dirname "$0")/cluster.sh"

start_slurm
recipe 'Slurm, as a job array' > "$WORK/job.sh"
# 100 rows of 2 credits each are more than the recipe's budget.
sed -i 's/--max-credits 50/--max-credits 250/' "$WORK/job.sh"
job=$(cd "$WORK" && sbatch --parsable job.sh)
echo "job $job: $(squeue --noheader --array --states all --jobs "$job" | wc -l) tasks"

until (($(submits) >= 100)); do sleep 0.2; done
echo "task 2: its program is killed after $(submits) submits in all"
kill -KILL "$(program_of 2)"
until [[ $(state_of 2) == FAILED ]]; do sleep 0.2; done
requeue 2
until (($(submits) >= 150)); do sleep 0.2; done
echo "task 3: requeued by Slurm after $(submits) submits in all"
requeue 3

while [[ $(states) =~ PENDING|RUNNING|COMPLETING ]]; do sleep 0.5; done
echo "the tasks have ended: $(states)"
judge
