#!/usr/bin/env bash
# Installs imggen for the steps that follow.
set -euo pipefail
if [ -z "$PACKAGE" ]; then
  # The action's commit, which GitHub has put here whole.
  source=$(cd "$GITHUB_ACTION_PATH/../../.." && pwd)
  npm ci --prefix "$source" --no-audit --no-fund
  (cd "$source" && npm run --silent build:package)
  PACKAGE="$source/dist/release/imggen.tgz"
fi
npm install --global --no-audit --no-fund --prefix "$RUNNER_TEMP/imggen" "$PACKAGE"
echo "$RUNNER_TEMP/imggen/bin" >> "$GITHUB_PATH"
echo "$RUNNER_TEMP/imggen" >> "$GITHUB_PATH"   # where npm puts commands on Windows
