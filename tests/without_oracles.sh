#!/usr/bin/env bash
# Hides each program that tests compare with once, alone, and runs the suite: it has to pass, since a test
# whose oracle is missing is skipped. Arguments choose what is run instead of the whole suite:
#   ORACLES="dwz perf" bash tests/without_oracles.sh tests/conformance/addr2line_conformance_test.ts
set -uo pipefail
cd "$(dirname "$0")/.."
oracles=${ORACLES:-perf gcc g++ clang ld.lld addr2line readelf objdump llvm-symbolizer eu-addr2line eu-stack dwz dwp chromium zsh fish}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
for oracle in $oracles; do
  rm -rf "$work/bin"
  mkdir "$work/bin"
  # All programs of the PATH, the first of each name, without that one.
  IFS=: read -ra folders <<<"$PATH"
  for folder in "${folders[@]}"; do ln -s "$folder"/* "$work/bin/" 2>/dev/null; done
  rm -f "$work/bin/$oracle"
  if PATH="$work/bin" deno test --lock=deno.dev.lock -A "${@:-.}" >"$work/log" 2>&1; then
    echo "without $oracle: $(grep -aE '^(.\[[0-9;]*m)*ok(.\[[0-9;]*m)* \|' "$work/log" | tail -1)"
  else
    failed=1
    echo "without $oracle: FAILED"
    tail -40 "$work/log"
  fi
done
exit "$failed"
