#!/usr/bin/env bash
# Runs the batch; its result goes to a file for the summary, its progress to the log. Exits as imggen does.
set -euo pipefail
export IMGGEN_HOME="$PWD/.imggen"
# An empty input is one that was not given.
[ -n "$IMGGEN_API_KEY" ] || unset IMGGEN_API_KEY
[ -n "$IMGGEN_BASE_URL" ] || unset IMGGEN_BASE_URL
flags=(--yes --json --sheet --max-credits "$MAX_CREDITS" --output "$OUTPUT/")
[ -z "$MODEL" ] || flags+=(--model "$MODEL")
read -ra more <<< "$ARGUMENTS"
imggen batch "$MANIFEST" "${flags[@]}" ${more[@]+"${more[@]}"} > "$RUNNER_TEMP/imggen-batch.jsonl"
