#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# bpftool.bats: -j and -p give the bytes that bpftool -j and -p give for the
# same map, for every map type; types bpftool shows as empty are refused.

load helpers

setup() {
	setup_world
	command -v bpftool >/dev/null || skip "no bpftool"
}

teardown() {
	teardown_world
}

# same WORD...: `bpfleet MODE WORD...` and `bpftool MODE map WORD...`.
same() {
	local mode
	for mode in -j -p; do
		bpftool $mode map "$@" >"$dir/want"
		check 0 "$B" $mode "$@"
		cmp "$dir/want" "$dir/stdout" || {
			echo "differs: $mode $*"
			diff "$dir/want" "$dir/stdout" | cut -c 1-300 | head -n 20
			return 1
		}
		# A note may say how coherent the walk was; nothing else.
		refute grep -v '^bpfleet: note: map id ' "$dir/stderr"
	done
}

first_key() {
	bpftool -j map getnext id "$id" | jq -r '.next_key | map(ltrimstr("0x")) | join(" ")'
}

# all_same TYPE [OPTION]...: dump, show and a lookup.
all_same() {
	make_map "$@"
	same dump id "$id"
	same show id "$id"
	same lookup id "$id" key hex $(first_key)
}

# What bpftool prints for a slot without an entry is an error in the place of
# a value: {"key":[..],"value":{"error":"No such file or directory"}}.  bpfleet
# prints entries only, so these go before the comparison.  -j only: jq -c
# writes what bpftool -j writes, but nothing writes what -p does; of -p the
# content is compared.
same_but_holes() {
	local drop='map(select(.value | type != "object"))'
	make_map "$@"
	same show id "$id"
	bpftool -j map dump id "$id" | jq -c "$drop" >"$dir/want"
	check 0 "$B" -j dump id "$id"
	cmp "$dir/want" "$dir/stdout"
	check 0 "$B" -p dump id "$id"
	cmp "$dir/want" <(jq -c . "$dir/stdout")
	[ "$(jq length "$dir/want")" -gt 0 ]
}

@test "hash" { all_same hash --fill 50 --max-entries 64; }
@test "hash, 10000 entries" { all_same hash --fill 10000 --max-entries 10000; }
@test "percpu_hash" { all_same percpu_hash --fill 20; }
@test "array" { all_same array --fill 20; }
@test "percpu_array" { all_same percpu_array --fill 20; }
@test "lru_hash" { all_same lru_hash --fill 20 --max-entries 256; }
@test "lru_percpu_hash" { all_same lru_percpu_hash --fill 20 --max-entries 256; }
@test "lpm_trie" { all_same lpm_trie --fill 20; }
@test "array_of_maps" { all_same array_of_maps --fill 3; }
@test "array_of_maps with holes: bpftool leaves them out too" { all_same array_of_maps --fill 2 --max-entries 8; }
@test "hash_of_maps" { all_same hash_of_maps --fill 3; }
@test "prog_array" { all_same prog_array --fill 3; }
@test "prog_array with holes: bpftool leaves them out too" { all_same prog_array --fill 2 --max-entries 8; }
@test "devmap without holes" { all_same devmap --fill 1 --max-entries 1; }
@test "devmap with holes" { same_but_holes devmap --fill 1 --max-entries 4; }
@test "devmap, 8-byte values" { same_but_holes devmap --value-size 8 --fill 1 --max-entries 4; }
@test "devmap_hash" { all_same devmap_hash --fill 1; }
@test "cpumap without holes" { all_same cpumap --fill 1 --max-entries 1; }
@test "cpumap with holes" { same_but_holes cpumap --fill 1 --max-entries 4; }
@test "sockmap without holes" { all_same sockmap --value-size 8 --fill 1 --max-entries 1; }
@test "sockmap with holes" { same_but_holes sockmap --value-size 8 --fill 3 --max-entries 16; }
@test "sockhash" { all_same sockhash --value-size 8 --fill 3; }
@test "reuseport_sockarray without holes" { all_same reuseport_sockarray --value-size 8 --fill 1 --max-entries 1; }
@test "reuseport_sockarray with holes" { same_but_holes reuseport_sockarray --value-size 8 --fill 2 --max-entries 8; }
@test "stack_trace" { all_same stack_trace --fill 1; }
@test "cgroup_storage" { all_same cgroup_storage --fill 1; }
@test "percpu_cgroup_storage" { all_same percpu_cgroup_storage --fill 1; }

@test "keys of 1 byte" { all_same hash --key-size 1 --fill 100 --max-entries 200; }
@test "keys of 3, values of 5 bytes" { all_same hash --key-size 3 --value-size 5 --fill 30 --max-entries 40; }
@test "keys of 17, values of 3 bytes" { all_same hash --key-size 17 --value-size 3 --fill 30 --max-entries 40; }
@test "values of 17 bytes" { all_same array --value-size 17 --fill 9; }
@test "values of 1 byte" { all_same hash --value-size 1 --fill 9; }
@test "values of 4096 bytes" { all_same hash --value-size 4096 --fill 20 --max-entries 20; }
@test "keys of 256 bytes" { all_same hash --key-size 256 --fill 9; }
@test "values of 3 bytes for each CPU: no padding" { all_same percpu_hash --value-size 3 --fill 9; }
@test "values of 17 bytes for each CPU" { all_same percpu_array --value-size 17 --fill 9; }
@test "lpm_trie of 128-bit addresses" { all_same lpm_trie --key-size 20 --fill 9; }

@test "an empty map" {
	make_map hash
	same dump id "$id"
	make_map percpu_hash
	same dump id "$id"
	make_map prog_array
	same dump id "$id"
	same show id "$id"
}

@test "a key that is not there: null" {
	make_map hash --fill 3
	for mode in -j -p; do
		bpftool $mode map lookup id "$id" key 9 9 9 9 >"$dir/want" || true
		check 3 "$B" $mode lookup id "$id" key 9 9 9 9
		cmp "$dir/want" "$dir/stdout"
	done
}

@test "the head of queue and stack" {
	for type in queue stack; do
		make_map $type --fill 3
		same show id "$id"
		same peek id "$id"
	done
}

@test "by name and by pin" {
	make_map hash --fill 5 --name "${u}sel" --pin "$pins/sel"
	same dump name "${u}sel"
	same show name "${u}sel"
	same dump pinned "$pins/sel"
	same show pinned "$pins/sel"
	same lookup pinned "$pins/sel" key 1 0 0 0
}

@test "by a name that several maps have" {
	make_map hash --fill 5 --name "${u}twin"
	make_map array --fill 2 --name "${u}twin"
	make_map percpu_hash --fill 2 --name "${u}twin"
	same dump name "${u}twin"
	same show name "${u}twin"
}

@test "show of types that cannot be dumped" {
	for type in queue stack ringbuf bloom_filter xskmap perf_event_array cgroup_array sk_storage; do
		make_map $type
		same show id "$id"
	done
}

same_list() {
	local mode
	for mode in -j -p; do
		bpftool $mode map list >"$dir/want"
		check 0 "$B" $mode list
		diff "$dir/want" "$dir/stdout" || return 1
	done
}

@test "list: all maps" {
	make_map hash --fill 5
	make_map prog_array --fill 1
	make_map lpm_trie
	same_list || same_list # others may make maps at the same moment
}

# refused TYPE [OPTION]...: bpftool shows an empty map and no word.
refused() {
	make_map "$@"
	for mode in "" -j -p "-o json" "-o jsonl" "-o csv"; do
		check 2 "$B" $mode dump id "$id"
		[[ $err == *"cannot be read"* ]] || { echo "$mode: $err"; return 1; }
		[[ $out != *'"key"'* && $out != *'"value"'* ]] || { echo "$mode: $out"; return 1; }
		[ "$(wc -l <"$dir/stdout")" -le 1 ] || { echo "$mode: $out"; return 1; }
	done
}

@test "refused: queue" { refused queue --fill 3; }
@test "refused: stack" { refused stack --fill 3; }
@test "refused: ringbuf" { refused ringbuf; }
@test "refused: user_ringbuf" { refused user_ringbuf; }
@test "refused: bloom_filter" { refused bloom_filter --fill 3; }
@test "refused: xskmap" { refused xskmap; }
@test "refused: perf_event_array" { refused perf_event_array --fill 1; }
@test "refused: cgroup_array" { refused cgroup_array --fill 1; }
@test "refused: sk_storage" { refused sk_storage; }
@test "refused: inode_storage" { refused inode_storage; }
@test "refused: task_storage" { refused task_storage; }
@test "refused: cgrp_storage" { refused cgrp_storage; }
@test "refused: arena" { refused arena; }
@test "refused: sockmap with 4-byte values" { refused sockmap --value-size 4 --fill 2; }
@test "refused: sockhash with 4-byte values" { refused sockhash --value-size 4 --fill 2; }
@test "refused: reuseport_sockarray with 4-byte values" { refused reuseport_sockarray --value-size 4 --fill 2; }
