#!/usr/bin/env bash
# Installs imggen for the steps that follow.
set -euo pipefail
npm install --global --no-audit --no-fund --prefix "$RUNNER_TEMP/imggen" "$PACKAGE"
echo "$RUNNER_TEMP/imggen/bin" >> "$GITHUB_PATH"
echo "$RUNNER_TEMP/imggen" >> "$GITHUB_PATH"   # where npm puts commands on Windows
