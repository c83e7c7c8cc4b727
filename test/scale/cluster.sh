# What the scripts here share: imggen installed from its package, a sandbox that is served, 400 rows, and the judge.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
WORK=$(mktemp --directory)
ROWS=400
export HOME=$WORK IMGGEN_HOME=$WORK/imggen

started=()
stop() {
  [[ -z ${SLURM_CONF:-} ]] || end_jobs
  for ((at = ${#started[@]} - 1; at >= 0; at--)); do
    kill "${started[at]}" 2> /dev/null || true
    wait "${started[at]}" 2> /dev/null || true
  done
  rm -rf "$WORK"
}
trap stop EXIT

# Runs a server in the background; it is stopped at the end.
serve() {
  "$@" > "$WORK/$(basename "$1").log" 2>&1 &
  started+=($!)
}

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# As the recipes install it.
(cd "$ROOT" && npm pack --silent --ignore-scripts --pack-destination "$WORK" > /dev/null)
npm install --silent --no-audit --no-fund --omit optional --global --prefix "$WORK/.local" "$WORK"/imggen-*.tgz

serve "$WORK/.local/bin/imggen" sandbox --credits 100000 --latency 1s --json
until grep --quiet --no-messages '"port"' "$WORK/imggen.log"; do sleep 0.1; done
IMGGEN_BASE_URL=$(grep --only-matching 'http://[^"]*' "$WORK/imggen.log" | head -n 1)
export IMGGEN_BASE_URL IMGGEN_API_KEY=sk-sandbox

{
  echo prompt
  for ((row = 1; row <= ROWS; row++)); do echo "fox number $row"; done
} > "$WORK/products.csv"

# What stands below a heading of `imggen help scale`, as it would be copied.
recipe() {
  "$WORK/.local/bin/imggen" help scale |
    awk -v heading="$1" '
      index($0, heading) == 1 { on = 1; next }
      on && /^#!/ { script = 1 }
      script && /^$/ { exit }
      script { print; next }
      on && /^    / { code = 1; print substr($0, 5); next }
      code { exit }'
}

# The process of imggen that runs a shard. Of this installation, so that no other program is ever killed.
program_of() { pgrep --newest --full -- "$WORK/.local/bin/imggen batch .*--shard $1/4"; }

# How many requests the sandbox has accepted.
submits() { grep --count ', cost ' "$WORK/imggen.log" || true; }

# Compares what the sandbox was sent with what is on the disk. A submit that was in flight when its program was killed
# has an unknown outcome: imggen must say so, and must not have sent that row again.
judge() {
  local sent distinct images unknown
  sent=$(submits)
  distinct=$(grep --only-matching '"fox number [0-9]*"' "$WORK/imggen.log" | sort --unique | wc -l)
  images=$(find "$WORK/pictures" -name '*.png' | wc -l)
  unknown=$("$WORK/.local/bin/imggen" history --status unknown --all --json --quiet |
    { grep --only-matching '"status": *"unknown"' || true; } | wc -l)
  echo "$sent submits of $distinct rows, $images images, $unknown rows of unknown outcome"
  ((sent == distinct)) || fail "a row was submitted twice"
  ((distinct + unknown >= ROWS && images + unknown == ROWS)) || fail "there are $ROWS rows"
}

# A cluster of this machine alone: a controller and a node, with all that they write below $WORK.
start_slurm() {
  local munge="$WORK/munge"
  mkdir --mode 755 "$munge" "$WORK/state" "$WORK/spool"
  chmod 755 "$WORK"
  dd if=/dev/urandom of="$munge/key" bs=128 count=1 status=none
  chmod 600 "$munge/key"
  serve munged --foreground --force --key-file "$munge/key" --socket "$munge/socket" \
    --pid-file "$munge/pid" --seed-file "$munge/seed" --log-file "$munge/log"
  export SLURM_CONF="$WORK/slurm.conf"
  # A requeued job begins once its credential has expired. Four tasks run at once, however many cores there are.
  cat > "$SLURM_CONF" << END
ClusterName=imggen
SlurmctldHost=$(hostname --short)
SlurmUser=root
SlurmctldPort=$((20000 + RANDOM % 10000))
SlurmdPort=$((30000 + RANDOM % 10000))
AuthInfo=socket=$munge/socket,cred_expire=5
StateSaveLocation=$WORK/state
SlurmdSpoolDir=$WORK/spool
SlurmctldPidFile=$WORK/slurmctld.pid
SlurmdPidFile=$WORK/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
KillWait=30
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=$(hostname --short) CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
  until [[ -S $munge/socket ]]; do sleep 0.1; done
  serve slurmctld -D
  serve slurmd -D
  for ((tries = 0; tries < 100; tries++)); do
    [[ $(sinfo --noheader --format %T 2> /dev/null) != idle ]] || return 0
    sleep 0.2
  done
  fail "the cluster does not come up: $(tail -n 5 "$WORK"/slurm*.log)"
}

# Jobs outlive the node that runs them.
end_jobs() {
  scancel --full --signal KILL --user root 2> /dev/null || true
  scancel --user root 2> /dev/null || true
  for ((tries = 0; tries < 50; tries++)); do
    [[ -n $(squeue --noheader 2> /dev/null) ]] || return 0
    sleep 0.2
  done
}

# The states of all tasks of the array, each once.
states() {
  scontrol --oneliner show job "$job" | grep --only-matching 'JobState=[A-Z]*' | cut -d = -f 2 | sort --unique | xargs
}

state_of() {
  scontrol --oneliner show job "${job}_$1" | grep --only-matching 'JobState=[A-Z]*' | cut -d = -f 2
}

requeue() { scontrol requeue "${job}_$1"; }
