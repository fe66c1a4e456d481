#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# cli.bats: the programs on live maps: bpftool's bytes, exit statuses, cursors,
# and the two processes of the agent.

setup() {
	BUILD=${BUILD:-build}
	B=$BUILD/bpfleet
	mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
	pin=/sys/fs/bpf/bpfleet-test-$$
	mkdir -p "$pin"
	dir=$(mktemp -d)
	chmod 755 "$dir"
	agent=
}

teardown() {
	[ -z "$agent" ] || kill "$agent" 2>/dev/null || true
	[ -z "$agent" ] || wait "$agent" || true
	rm -rf "$pin" "$dir"
}

# make NAME TYPE [OPTION...]: a pinned map; sets id.
make_map() {
	id=$(build/tests/mkmap --name "$1" --pin "$pin/$1" "${@:3}" "$2" | sed -n 's/^id //p')
	[ -n "$id" ] || skip "this kernel has no $2"
}

start_agent() {
	"$BUILD/bpfleetd" --listen "ipc://$dir/run/agent.sock" "$@" 2>"$dir/log" 3>&- &
	agent=$!
	for _ in $(seq 200); do
		grep -q 'agent listening' "$dir/log" && return
		sleep 0.05
	done
	cat "$dir/log"
	false
}

# A bare `!` does not fail a test.
refute() {
	if "$@"; then return 1; fi
}

same_as_bpftool() {
	for mode in -j -p; do
		diff <("$B" $mode dump id "$id") <(bpftool $mode map dump id "$id")
		diff <("$B" $mode show id "$id") <(bpftool $mode map show id "$id")
	done
}

@test "-j and -p are bpftool's bytes, for every type both read" {
	for type in hash percpu_hash lru_hash lru_percpu_hash lpm_trie array percpu_array array_of_maps hash_of_maps prog_array; do
		make_map "t_$type" "$type" --fill 4
		same_as_bpftool
	done
	make_map odd hash --key-size 5 --value-size 3 --fill 7
	same_as_bpftool
	make_map tiny hash --key-size 1 --fill 100 --max-entries 200
	same_as_bpftool
	make_map empty hash
	same_as_bpftool
}

@test "list and lookup are bpftool's bytes" {
	make_map t_look hash --fill 4
	diff <("$B" -j lookup id "$id" key 1 0 0 0) <(bpftool -j map lookup id "$id" key 1 0 0 0)
	diff <("$B" -p lookup id "$id" key 1 0 0 0) <(bpftool -p map lookup id "$id" key 1 0 0 0)
	diff <("$B" -j list) <(bpftool -j map list)
}

@test "types without keys or values are refused with the reason" {
	for type in queue stack ringbuf bloom_filter xskmap perf_event_array cgroup_array; do
		make_map "r_$type" "$type"
		run "$B" dump id "$id"
		[ "$status" = 2 ]
		[[ $output == *"cannot be read"* ]]
	done
}

@test "exit statuses, and one line that names the thing" {
	make_map t_exit hash --fill 3
	run "$B" dump no_such_map; [ "$status" = 3 ]; [[ $output == *no_such_map* ]]
	run "$B" dump id 4000000000; [ "$status" = 3 ]
	run "$B" --nonsense list; [ "$status" = 2 ]; [[ $output == *--nonsense* ]]
	run "$B" -o nonsense list; [ "$status" = 2 ]
	run "$B" nonsense; [ "$status" = 2 ]
	run "$B" lookup id "$id" key 1 2; [ "$status" = 2 ]; [[ $output == *"4 bytes, 2 were"* ]]
	run "$B" lookup id "$id" key 9 9 9 9; [ "$status" = 3 ]
	run "$B" dump id "$id" --cursor zz; [ "$status" = 2 ]
	run "$B" -w tcp://127.0.0.1:7117 list; [ "$status" = 2 ]; [[ $output == *"secure channel"* ]]
	run "$B" -w ipc:///nonexistent/sock list; [ "$status" = 6 ]
	run setpriv --reuid=65533 --clear-groups "$B" list; [ "$status" = 6 ]
	run bash -c "'$B' dump id $id >/dev/full"; [ "$status" = 1 ]; [[ $output == *"No space left"* ]]
	run bash -c "'$B' -j dump id $id | true; exit \${PIPESTATUS[0]}"; [ "$status" = 0 ] || [ "$status" = 1 ]
	run "$B" map dump id "$id"; [ "$status" = 0 ]
}

@test "every output is valid" {
	make_map t_out percpu_hash --fill 5
	"$B" -o json dump id "$id" | jq -e '.hosts[0].entries | length == 5'
	[ "$("$B" -o jsonl dump id "$id" | jq -s length)" = 5 ]
	[ "$("$B" -o csv dump id "$id" | wc -l)" -ge 6 ]
	"$B" -o prom dump id "$id" | grep -q '^bpfleet_map_value{'
	[ "$("$B" -o jsonl dump id "$id" --limit 2 | wc -l)" = 2 ]
}

@test "a cursor goes on where its page ended, also after kill -9 of the agent" {
	make_map t_page hash --fill 1000 --max-entries 1000
	start_agent
	w=(-w "ipc://$dir/run/agent.sock")
	"$B" "${w[@]}" dump id "$id" --page-entries 100 --show-cursors >"$dir/all"
	cursor=$(sed -n 's/^# page 1: .* cursor \([0-9a-f]*\)$/\1/p' "$dir/all")
	[ -n "$cursor" ]
	grep -v '^[#K]' "$dir/all" >"$dir/entries"
	[ "$(sort -u "$dir/entries" | wc -l)" = 1000 ]
	n=$(sed -n '/^# page 1:/q; /^[0-9]/p' "$dir/all" | wc -l)
	kill -9 "$agent"
	wait "$agent" || true
	start_agent
	"$B" "${w[@]}" dump id "$id" --cursor "$cursor" | grep -v '^K' >"$dir/rest"
	diff <(tail -n +$((n + 1)) "$dir/entries") "$dir/rest"
	run "$B" "${w[@]}" dump id "$id" --cursor "${cursor%??}00"
	[ "$status" = 2 ]
	make_map t_other hash --fill 1
	run "$B" "${w[@]}" dump id "$id" --cursor "$cursor"
	[ "$status" = 2 ]
	[[ $output == *"belongs to map id"* ]]
}

@test "the worker has no privileges" {
	start_agent
	worker=$(pgrep -P "$agent")
	grep -qE '^CapEff:\s*0+$' "/proc/$worker/status"
	grep -qE '^NoNewPrivs:\s*1$' "/proc/$worker/status"
	refute grep -qE '^Uid:\s*0' "/proc/$worker/status"
}

@test "a worker that is killed is started again; without a broker it ends" {
	start_agent
	worker=$(pgrep -P "$agent")
	kill -9 "$worker"
	for _ in $(seq 200); do
		[ "$(grep -c 'agent listening' "$dir/log")" = 2 ] && break
		sleep 0.05
	done
	"$B" -w "ipc://$dir/run/agent.sock" list
	grep -q 'worker died' "$dir/log"
	worker=$(pgrep -P "$agent")
	kill -9 "$agent"
	wait "$agent" || true
	for _ in $(seq 60); do
		kill -0 "$worker" 2>/dev/null || break
		sleep 0.05
	done
	refute kill -0 "$worker"
	start_agent
	"$B" -w "ipc://$dir/run/agent.sock" list
}

@test "SIGTERM ends the agent and removes its socket; a second one is refused" {
	start_agent
	run "$BUILD/bpfleetd" --listen "ipc://$dir/run/agent.sock"
	[ "$status" = 1 ]
	[[ $output == *"another agent"* ]]
	"$B" -w "ipc://$dir/run/agent.sock" hosts
	kill "$agent"
	wait "$agent"
	agent=
	[ ! -e "$dir/run/agent.sock" ]
}

@test "settings: mistakes are named, hidden maps are not found" {
	make_map t_hidden hash
	make_map t_seen hash
	printf '[agent]\nnonsense = 1\n' >"$dir/conf"
	run "$BUILD/bpfleetd" -c "$dir/conf" --check-config
	[ "$status" = 2 ]
	[[ $output == *"conf:2:"* ]]
	run "$BUILD/bpfleetd" --listen tcp://127.0.0.1:7117
	[ "$status" = 2 ]
	printf '[agent]\nmaps = name:t_seen\n' >"$dir/conf"
	start_agent -c "$dir/conf"
	"$B" -w "ipc://$dir/run/agent.sock" show t_seen
	run "$B" -w "ipc://$dir/run/agent.sock" show t_hidden
	[ "$status" = 3 ]
}

@test "the public header compiles alone in C99 and C++17; the example runs" {
	echo '#include <bpfleet/bpfleet.h>' >"$dir/h.c"
	gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -Iclient/include -fsyntax-only "$dir/h.c"
	g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -Iclient/include -fsyntax-only -x c++ "$dir/h.c"
	make_map t_ex hash --fill 3
	start_agent
	[ "$("$BUILD/examples/dump" "id:$id" "ipc://$dir/run/agent.sock" | wc -l)" = 3 ]
}

@test "200 clients at once" {
	make_map t_many hash --fill 500 --max-entries 500
	start_agent
	pids=()
	for i in $(seq 200); do
		"$BUILD/bpfleet" -w "ipc://$dir/run/agent.sock" -o jsonl dump id "$id" >"$dir/c$i" 3>&- &
		pids+=($!)
	done
	for p in "${pids[@]}"; do wait "$p"; done
	[ "$(cat "$dir"/c[0-9]* | wc -l)" = 100000 ]
}

@test "connections that never become a client do not stop the agent" {
	start_agent
	for mode in bare read partial garbage wrong-protocol huge hello; do
		python3 tests/system/halfopen.py "$dir/run/agent.sock" $mode 20
		"$B" -w "ipc://$dir/run/agent.sock" --timeout 5 hosts || { echo "after $mode"; false; }
	done
}

@test "Ctrl-C: what had arrived is printed, and cannot be taken for all" {
	make_map t_int hash --fill 1000000 --max-entries 1000000
	start_agent
	for format in bpftool json; do
		"$B" -w "ipc://$dir/run/agent.sock" -o $format dump id "$id" >"$dir/out" 2>"$dir/err" 3>&- &
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
	make_map t_big hash --fill 1000000 --max-entries 1000000
	start_agent
	rss() { for p in "$agent" $(pgrep -P "$agent"); do awk '/^VmHWM/ { print $2 }' "/proc/$p/status"; done | awk '{ n += $1 } END { print n }'; }
	before=$(rss)
	[ "$before" -lt 12288 ]
	python3 - "$B" "ipc://$dir/run/agent.sock" "$id" <<-'P'
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
	make_map t_stop hash --fill 100000 --max-entries 100000
	start_agent
	python3 tests/system/unread.py "$dir/run/agent.sock" "$id" 3>&- &
	pid=$!
	sleep 0.5
	for _ in 1 2 3; do
		[ "$("$B" -w "ipc://$dir/run/agent.sock" --timeout 5 -o jsonl dump id "$id" | wc -l)" = 100000 ]
	done
	kill $pid
	wait $pid || true
}

@test "a map that goes away between pages is an error, never a mix" {
	make_map t_gone hash --fill 200000 --max-entries 200000
	start_agent
	flags=()
	[[ $BUILD != *san* ]] || flags=(-fsanitize=address,undefined)
	cc "${flags[@]}" -Iclient/include -o "$dir/replaced" tests/system/replaced.c -L"$BUILD" -lbpfleet -Wl,-rpath,"$(realpath "$BUILD")"
	"$dir/replaced" "ipc://$dir/run/agent.sock" "$pin/t_gone"
}

@test "man pages name every option of --help, and no other" {
	for page in bpfleet.1 bpfleetd.8; do
		scdoc <"deploy/man/$page.scd" >"$dir/$page"
		diff <("$BUILD/${page%.*}" --help | grep -oE -- '^  .. --[a-z-]+' | grep -oE -- '--[a-z-]+' | sort) \
			<(sed -n '/^# OPTIONS/,/^# [^O]/p' "deploy/man/$page.scd" | grep -oE -- '^\*.*' | grep -oE -- '--[a-z-]+' | sort)
	done
}
