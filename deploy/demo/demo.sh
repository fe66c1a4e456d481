#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# demo.sh: bpfleet's main job on live maps of this kernel.  Loads three eBPF
# programs, makes real packets and disk I/O for them to count, starts an agent
# and reads the maps through it.  Prints each command, leaves nothing behind.
set -eu
cd "$(dirname "$0")/../.."
PATH=$PWD/build:$PATH
demo=build/demo/bpfdemo
traffic=deploy/demo/traffic.sh
dir=$(mktemp -d)
chmod 755 "$dir"
agent=

[ "$(id -u)" = 0 ] || { echo "demo: run it as root: it loads eBPF programs" >&2; exit 1; }

cleanup() {
	set +e
	[ -z "$agent" ] || { kill "$agent" && wait "$agent"; } 2>/dev/null
	$demo unload >/dev/null 2>&1
	$traffic cleanup >/dev/null 2>&1
	rm -rf "$dir"
}
trap cleanup EXIT

say() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
# Shows a command, then runs it; long output is cut, and says so.
run() {
	local lines
	printf '$ %s\n' "$*"
	"$@" >"$dir/out" || { cat "$dir/out"; echo "demo: failed: $*" >&2; exit 1; }
	lines=$(wc -l <"$dir/out")
	head -n "${LINES_SHOWN:-14}" "$dir/out" | cut -c1-160
	[ "$lines" -le "${LINES_SHOWN:-14}" ] || echo "... ($lines lines in all)"
}

say "Load three eBPF programs of our own and make traffic and I/O for them"
run $traffic setup
run nsenter --net=/run/netns/bpfleet-demo-b $demo load --ifname bpfleet-demo1
run $traffic run 5

say "Start the agent: a broker that opens maps, a worker without privileges"
echo "$ bpfleetd --listen ipc://$dir/run/agent.sock &"
bpfleetd --listen "ipc://$dir/run/agent.sock" 2>"$dir/log" &
agent=$!
for _ in $(seq 100); do
	grep -q 'agent listening' "$dir/log" && break
	sleep 0.05
done
cat "$dir/log"
export BPFLEET_HOSTS=ipc://$dir/run/agent.sock
echo "$ export BPFLEET_HOSTS=$BPFLEET_HOSTS"

say "What maps are there?"
run bpfleet hosts
run bpfleet list --fill

# A map of a program that the kernel refused is not there to be shown.
for map in flows syscalls biolat; do
	if ! bpfleet show name $map >/dev/null 2>&1; then
		say "$map: its program could not be loaded here"
		continue
	fi
	id=$(bpfleet -o jsonl show name $map | jq -s '.[0].id')
	say "The map $map"
	run bpfleet show id "$id"
	run bpfleet -o jsonl dump name $map
done

id=
for map in syscalls flows biolat; do
	bpfleet show name $map >/dev/null 2>&1 || continue
	id=$(bpfleet -o jsonl show name $map | jq -s '.[0].id')
	break
done
[ -n "$id" ] || { echo "demo: none of the programs could be loaded" >&2; exit 1; }

say "One key, looked up; bpftool's JSON"
key=$(bpfleet -j dump id "$id" --limit 1 | jq -r '.[0].key | map(ltrimstr("0x")) | join(" ")')
# shellcheck disable=SC2086 # bytes are words
run bpfleet lookup id "$id" key hex $key
# shellcheck disable=SC2086
run bpfleet -p lookup id "$id" key hex $key

say "Page by page: any page can be continued later, by anyone with its cursor"
run bpfleet dump id "$id" --page-entries 5 --show-cursors
cursor=$(bpfleet dump id "$id" --page-entries 5 --show-cursors |
	sed -n 's/^# page 1: .* cursor \([0-9a-f]*\)$/\1/p')
if [ -n "$cursor" ]; then
	run bpfleet dump id "$id" --cursor "$cursor"
fi

say "Without an agent the same commands work as root: a private one is started"
unset BPFLEET_HOSTS
run bpfleet dump id "$id" --limit 3
say "Done; programs, maps, namespaces and agent are removed"
