import type { Topic } from "../topic-names.ts";

const GITHUB = `
jobs:
  pictures:
    strategy:
      matrix: { shard: [1, 2, 3, 4] }
    runs-on: ubuntu-latest
    env:
      IMGGEN_API_KEY: \${{ secrets.IMGGEN_API_KEY }}
      IMGGEN_BASE_URL: https://example.com/api
      IMGGEN_HOME: .imggen
      KEPT: imggen-\${{ matrix.shard }}-\${{ github.run_id }}-
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with: { node-version: 22 }
      - run: npm install --global ./imggen.tgz
      # What an earlier attempt has charged is known by IMGGEN_HOME.
      - uses: actions/cache/restore@v4
        with:
          path: .imggen
          key: \${{ env.KEPT }}\${{ github.run_attempt }}
          restore-keys: \${{ env.KEPT }}
      - run: >
          imggen batch products.csv --model gamma-image-2
          --shard \${{ matrix.shard }}/4 --output pictures/ --max-credits 50
      - uses: actions/cache/save@v4
        if: always()
        with:
          path: .imggen
          key: \${{ env.KEPT }}\${{ github.run_attempt }}
      - uses: actions/upload-artifact@v4
        if: always()
        with: { name: "pictures-\${{ matrix.shard }}", path: pictures/ }`;

const SLURM = `
#!/bin/bash
#SBATCH --array=1-4
#SBATCH --requeue
# once, on the login node: npm install --global --prefix "$HOME/.local" ./imggen.tgz
export PATH="$HOME/.local/bin:$PATH"
export IMGGEN_HOME="$HOME/imggen"   # one folder for all: their rows never overlap
imggen batch products.csv --model gamma-image-2 --output pictures/ \\
  --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --max-credits 50`;

const KUBERNETES = `
# The image is a release's; it runs as user 1000, who must be able to write to the volume.
apiVersion: batch/v1
kind: Job
metadata: { name: pictures }
spec:
  completions: 4
  parallelism: 4
  completionMode: Indexed
  template:
    spec:
      restartPolicy: OnFailure
      securityContext: { fsGroup: 1000 }
      containers:
        - name: imggen
          image: ghcr.io/imggen/imggen:0.1.0
          command:
            - sh
            - -c
            - >-
              imggen batch /data/products.csv --model gamma-image-2
              --shard $((JOB_COMPLETION_INDEX + 1))/4
              --output /data/pictures/ --max-credits 50
          env:
            - { name: IMGGEN_HOME, value: /data/imggen }
            - { name: IMGGEN_BASE_URL, value: https://example.com/api }
            - name: IMGGEN_API_KEY
              valueFrom: { secretKeyRef: { name: imggen, key: api-key } }
          volumeMounts: [{ name: data, mountPath: /data }]
      volumes:
        - name: data
          persistentVolumeClaim: { claimName: pictures }`;

const PARALLEL = `
npm install --global ./imggen.tgz
parallel --jobs 4 imggen batch products.csv --model gamma-image-2 \\
  --shard {}/4 --output pictures/ --max-credits 50 ::: 1 2 3 4`;

export const TOPIC: Topic = [
  "--shard i/n runs the i-th of n parts of a manifest. Every row is in exactly one part, so machines that know nothing of each other can share the work.",
  "",
  "Budget:",
  "  --max-credits is the budget of each shard: four shards with 50 spend 200 credits at most. Where they share IMGGEN_HOME, imggen config set dailyCredits 200 limits them together, per day and key.",
  "",
  "After a failure:",
  "  The same command again resumes: rows that are saved or charged are not submitted again. Slurm does not run a failed task again by itself; scontrol requeue <job>_<task> does, and so does the same sbatch.",
  "",
  "State:",
  "  Keep IMGGEN_HOME on a disk that outlives the job: the next run finds earlier charges there. A claim of another machine or container is respected until it expires, because its process cannot be checked. While others are at work on a shared IMGGEN_HOME, run neither resume nor --resubmit-unknown.",
  "",
  "Install:",
  "  imggen.tgz is what npm pack makes in a clone of imggen. It needs Node.js alone.",
  "",
  "GNU parallel, on one machine:",
  ...verbatim(PARALLEL),
  "",
  "Slurm, as a job array:",
  ...verbatim(SLURM),
  "",
  "GitHub Actions, with imggen.tgz in the repository:",
  ...verbatim(GITHUB),
  "",
  "Kubernetes, as an indexed job (the index counts from 0):",
  ...verbatim(KUBERNETES),
];

function verbatim(text: string): string[] {
  const lines = text.slice(1).split("\n");
  return lines.map((line) => `    ${line}`);
}
