#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# faults.bats: what goes wrong around a dump: peers that are none or do not
# read, Ctrl-C, maps that are replaced, a million entries; and the man pages.

load helpers

setup() {
	setup_world
}

teardown() {
	teardown_world
}

@test "connections that never become a client do not stop the agent" {
	start_agent
	for mode in bare read partial garbage wrong-protocol huge hello; do
		python3 "$ROOT"/tests/system/halfopen.py "$dir/run/agent.sock" $mode 20
		"$B" -w "$sock" --timeout 5 hosts || { echo "after $mode"; false; }
	done
}

@test "Ctrl-C: what had arrived is printed, and cannot be taken for all" {
	make_map hash --fill 1000000 --max-entries 1000000
	start_agent
	for format in bpftool json; do
		"$B" -w "$sock" -o $format dump id "$id" >"$dir/out" 2>"$dir/err" 3>&- &
		pid=$!
		for _ in $(seq 500); do [ -s "$dir/out" ] && break; sleep 0.01; done
		kill -INT $pid
		status=0
		wait $pid || status=$?
		[ "$status" = 130 ]
		[ "$(wc -c <"$dir/out")" -gt 1000 ]
		if [ $format = bpftool ]; then
			refute python3 -m json.tool "$dir/out"
		else
			[ "$(jq -r '.hosts[0].status' "$dir/out")" = partial ]
		fi
	done
}

@test "1,000,000 entries: client and agent stay small" {
	[[ $BUILD != *san* ]] || skip "sanitizers need their own memory"
	make_map hash --fill 1000000 --max-entries 1000000
	start_agent
	rss() { for p in "$agent" $(pgrep -P "$agent"); do awk '/^VmHWM/ { print $2 }' "/proc/$p/status"; done | awk '{ n += $1 } END { print n }'; }
	before=$(rss)
	[ "$before" -lt 12288 ]
	python3 - "$B" "$sock" "$id" <<-'P'
		import resource, subprocess, sys
		b, url, n = sys.argv[1:]
		p = subprocess.Popen([b, "-w", url, "-o", "jsonl", "dump", "id", n], stdout=subprocess.PIPE)
		assert sum(c.count(b"\n") for c in iter(lambda: p.stdout.read(1 << 16), b"")) == 1000000
		assert p.wait() == 0
		rss = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
		assert rss < 32 * 1024, rss
	P
	[ $(($(rss) - before)) -lt 16384 ]
}

@test "a client that stops reading does not keep others waiting" {
	make_map hash --fill 100000 --max-entries 100000
	start_agent
	python3 "$ROOT"/tests/system/unread.py "$dir/run/agent.sock" "$id" 3>&- &
	pid=$!
	sleep 0.5
	for _ in 1 2 3; do
		[ "$("$B" -w "$sock" --timeout 5 -o jsonl dump id "$id" | wc -l)" = 100000 ]
	done
	kill $pid
	wait $pid || true
}

@test "a map that goes away between pages is an error, never a mix" {
	"$MKMAP" --name "${u}gone" --pin "$pins/gone" --fill 200000 --max-entries 200000 hash
	start_agent
	flags=()
	[[ $BUILD != *san* ]] || flags=(-fsanitize=address,undefined)
	cc "${flags[@]}" -I"$ROOT/client/include" -o "$dir/replaced" "$ROOT"/tests/system/replaced.c -L"$BUILD" -lbpfleet -Wl,-rpath,"$BUILD"
	"$dir/replaced" "$sock" "$pins/gone"
}

@test "man pages name every option of --help, and no other" {
	for page in bpfleet.1 bpfleetd.8; do
		scdoc <"$ROOT/deploy/man/$page.scd" >"$dir/$page"
		diff <("$BUILD/${page%.*}" --help | grep -oE -- '^  .. --[a-z-]+' | grep -oE -- '--[a-z-]+' | sort) \
			<(sed -n '/^# OPTIONS/,/^# [^O]/p' "$ROOT/deploy/man/$page.scd" | grep -oE -- '^\*.*' | grep -oE -- '--[a-z-]+' | sort)
	done
}
