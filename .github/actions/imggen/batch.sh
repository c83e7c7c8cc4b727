#!/usr/bin/env bash
# Runs the batch; its result goes to a file for the summary, its progress to the log. Exits as imggen does.
set -euo pipefail
mkdir -p "$IMGGEN_HOME"
# Settings and prices from the checkout would be a pull request's: they could make max-credits void.
case "$(cd "$IMGGEN_HOME" && pwd -P)/" in
  "$(cd "$GITHUB_WORKSPACE" && pwd -P)"/*)
    echo "::error::The folder of imggen's settings and ledger, $IMGGEN_HOME, lies in the checkout. Nothing was sent."
    exit 2 ;;
esac
# An empty input is one that was not given.
[ -n "$IMGGEN_API_KEY" ] || unset IMGGEN_API_KEY
[ -n "$IMGGEN_BASE_URL" ] || unset IMGGEN_BASE_URL
flags=(--yes --json --sheet --max-credits "$MAX_CREDITS" --output "$OUTPUT/")
[ -z "$MODEL" ] || flags+=(--model "$MODEL")
# Over several lines and with quotes, as in a shell; xargs expands nothing, and refuses a quote without its end.
if [ -n "${ARGUMENTS//[[:space:]]/}" ]; then
  xargs printf '%s\0' <<< "$ARGUMENTS" > "$RUNNER_TEMP/imggen-arguments"
  while IFS= read -r -d '' each; do flags+=("$each"); done < "$RUNNER_TEMP/imggen-arguments"
fi
imggen batch "$MANIFEST" "${flags[@]}" > "$RUNNER_TEMP/imggen-batch.jsonl"
