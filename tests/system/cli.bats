#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# cli.bats: the command line: exit statuses and what is said with them, how
# maps are selected, pages and cursors, and every output format.

load helpers

setup() {
	setup_world
}

teardown() {
	teardown_world
}

# fails STATUS TEXT WORD...: bpfleet WORD... prints one line with TEXT, no data.
fails() {
	local want=$1 text=$2
	shift 2
	check "$want" "$B" "$@"
	[ -z "$out" ] || { echo "on stdout: $out"; return 1; }
	one_line "$text"
}

@test "3: a map that does not exist" {
	fails 3 no_such_map dump no_such_map
	fails 3 no_such_map dump name no_such_map
	fails 3 no_such_map show no_such_map
	fails 3 no_such_map lookup no_such_map key 0
	fails 3 4000000000 dump id 4000000000
	fails 3 "$pins/none" dump pinned "$pins/none"
	fails 3 'nosuch*' dump 'name:nosuch*'
	make_map hash --fill 3
	check 3 "$B" lookup id "$id" key 9 9 9 9
	one_line ""
}

@test "2: usage" {
	fails 2 --nonsense --nonsense list
	fails 2 nonsense -o nonsense list
	fails 2 nonsense nonsense
	fails 2 "" dump
	fails 2 "" lookup
	fails 2 abc dump id abc
	fails 2 99999999999 dump id 99999999999
	fails 2 -1 dump id -1
	make_map hash --fill 1
	fails 2 "walk, batch" --engine loud dump id "$id"
	fails 2 x --limit x dump foo
	fails 2 -5 --limit -5 dump foo
	fails 2 x --page-entries x dump foo
	fails 2 x --timeout x list
	fails 2 extra list extra
	check 2 "$B"
	[ ! -s "$dir/stdout" ] && [ -s "$dir/stderr" ]
}

@test "2: keys of a wrong length or with wrong bytes" {
	make_map hash --fill 3
	fails 2 "4 bytes, 2 were" lookup id "$id" key 1 2
	fails 2 "4 bytes, 5 were" lookup id "$id" key hex 1 2 3 4 5
	fails 2 255 lookup id "$id" key 256 0 0 0
	fails 2 "hex digits" lookup id "$id" key hex zz 0 0 0
	fails 2 "from 0 to 255" lookup id "$id" key -1 0 0 0
	fails 2 "" lookup id "$id" key
	fails 2 "" lookup id "$id"
}

@test "keys: hex, decimal, 0x" {
	make_map hash --fill 300 --max-entries 300
	for k in "hex 0a 00 00 00" "hex 0A 0 0 0" "10 0 0 0" "0x0a 0 0 0" "0xa 0x0 0 0"; do
		check 0 "$B" -o jsonl lookup id "$id" key $k || { echo "$k"; false; }
		[ "$(jq -c '[.key, .value]' "$dir/stdout")" = "[10,31]" ]
	done
}

@test "2: addresses that are not served" {
	fails 2 "$dir/none: make one with bpfleet genkey" -w tcp://127.0.0.1:7117 --key "$dir/none" list
	fails 2 nonsense -w nonsense://x list
}

@test "6: nobody listens" {
	fails 6 /nonexistent/sock -w ipc:///nonexistent/sock list
	fails 6 "$dir" -w "ipc://$dir/none.sock" --connect-timeout 1 list
}

@test "6: not root and no agent" {
	[ ! -S /run/bpfleet/agent.sock ] || skip "an agent runs here"
	check 6 setpriv --reuid=65533 --clear-groups "$B" list
	[ ! -s "$dir/stdout" ]
	one_line ""
}

@test "1: output that cannot be written" {
	make_map hash --fill 2000 --max-entries 2000
	for o in table json jsonl csv prom bpftool; do
		rc=0
		"$B" -o $o dump id "$id" >/dev/full 2>"$dir/stderr" || rc=$?
		err=$(cat "$dir/stderr")
		[ "$rc" = 1 ] || { echo "$o: exit $rc: $err"; false; }
		one_line "No space left"
	done
	rc=0
	"$B" list >/dev/full 2>"$dir/stderr" || rc=$?
	[ "$rc" = 1 ]
	rc=0
	"$B" --help >/dev/full 2>"$dir/stderr" || rc=$?
	[ "$rc" = 1 ]
}

@test "a closed pipe ends it soon and quietly" {
	make_map hash --fill 50000 --max-entries 50000
	rc=0
	timeout 10 bash -c "'$B' -o jsonl dump id $id 2>'$dir/stderr' | head -n 1 >'$dir/stdout'; exit \${PIPESTATUS[0]}" || rc=$?
	[ "$(wc -l <"$dir/stdout")" = 1 ]
	[ "$rc" != 124 ] && [ "$rc" != 134 ] && [ "$rc" != 139 ]
	[ "$(wc -l <"$dir/stderr")" -le 1 ]
}

@test "a name that several maps have: all are read, none is looked up" {
	make_map hash --fill 3 --name "${u}twin"
	a=$id
	make_map hash --fill 5 --name "${u}twin"
	check 0 "$B" -o jsonl dump "${u}twin"
	[ "$(jq -s -c "[map(select(.id == $a)), map(select(.id == $id))] | map(length)" "$dir/stdout")" = "[3,5]" ]
	check 0 "$B" -o json dump "name:${u}tw*"
	[ "$(jq -c '[.hosts[].entries | length]' "$dir/stdout")" = "[3,5]" ]
	fails 2 "${u}twin" lookup "${u}twin" key 0 0 0 0
}

@test "every way to name a map" {
	make_map hash --fill 3 --name "${u}sel" --pin "$pins/sel"
	for sel in "id $id" "id:$id" "name ${u}sel" "name:${u}sel" "name:${u}s?l" "${u}sel" "pinned $pins/sel" "pin:$pins/sel"; do
		for map in "" map; do
			check 0 "$B" -o jsonl $map dump $sel || { echo "$sel"; false; }
			[ "$(jq -s -c 'map(.key) | sort' "$dir/stdout")" = "[0,1,2]" ]
			check 0 "$B" -j $map show $sel
			[ "$(jq .id "$dir/stdout")" = "$id" ]
		done
	done
}

@test "odd names of maps" {
	for name in id a.b . .. 0 7 key dump _ name; do
		make_map hash --fill 2 --name "$name"
		check 0 "$B" -o jsonl dump name "$name"
		jq -s -e --argjson id "$id" --arg name "$name" \
			'map(select(.id == $id and .map == $name)) | length == 2' "$dir/stdout"
		check 0 "$B" -o json list
		jq -e --argjson id "$id" --arg name "$name" \
			'any(.hosts[0].maps[]; .id == $id and .name == $name)' "$dir/stdout"
	done
	make_map hash --fill 2 --name ""
	check 0 "$B" -o jsonl dump id "$id"
	[ "$(jq -s length "$dir/stdout")" = 2 ]
	check 0 "$B" list
}

@test "odd names of pins: all output stays valid, terminals stay safe" {
	odd=$'a"b\\c,\t\e[31m\nd'
	make_map hash --fill 2 --pin "$pins/$odd"
	for o in json jsonl; do
		check 0 "$B" -o $o list --pins
		jq -s . "$dir/stdout" >/dev/null
		jq -e --arg pin "$pins/$odd" '[.. | strings] | any(. == $pin)' "$dir/stdout" >/dev/null || {
			echo "no pin in $o"
			cat -A "$dir/stdout"
			false
		}
	done
	for o in table wide; do
		check 0 "$B" -o $o list --pins
		refute grep -q $'\e' "$dir/stdout"
	done
	check 0 "$B" -o jsonl dump pinned "$pins/$odd"
	[ "$(jq -s length "$dir/stdout")" = 2 ]
	fails 3 "" dump pinned "$pins/x$odd"
	refute grep -q $'\e' "$dir/stderr"
}

@test "a name longer than 15 characters: a note, and the kernel's part of it" {
	make_map hash --fill 3 --name "${u}0123456789"
	short=$(bpftool -j map show id "$id" | jq -r .name)
	check 0 "$B" -o jsonl dump "${short}_and_more_of_it"
	[ "$(jq -s length "$dir/stdout")" = 3 ] || [ "${#short}" != 15 ]
	[[ $err == *"15 characters"* ]]
}

# The entries of one table, without head line and comments.
entries() {
	grep '^[0-9]' "$1"
}

@test "pages: a second command goes on from a cursor, also after a restart" {
	make_map hash --fill 1000 --max-entries 1000
	start_agent
	w="-w $sock"
	check 0 "$B" $w dump id "$id" --page-entries 100 --show-cursors
	cp "$dir/stdout" "$dir/all"
	cursor=$(sed -n 's/^# page 1: .* cursor \([0-9a-f]*\)$/\1/p' "$dir/all")
	n=$(sed -n '/^# page 1:/q; /^[0-9]/p' "$dir/all" | wc -l)
	[ "$n" -ge 1 ] && [ "$n" -lt 1000 ]
	[ "$(entries "$dir/all" | sort -u | wc -l)" = 1000 ]
	[ "$(entries "$dir/all" | wc -l)" = 1000 ]
	entries "$dir/all" | tail -n +$((n + 1)) >"$dir/want"
	check 0 "$B" $w dump id "$id" --cursor "$cursor"
	diff "$dir/want" <(entries "$dir/stdout")
	echo "$cursor" >"$dir/cursor"
	check 0 "$B" $w dump id "$id" --cursor "@$dir/cursor"
	diff "$dir/want" <(entries "$dir/stdout")
	kill "$agent"
	wait "$agent"
	start_agent
	check 0 "$B" $w dump id "$id" --cursor "$cursor"
	diff "$dir/want" <(entries "$dir/stdout")
	kill -9 "$agent"
	wait "$agent" || true
	start_agent
	check 0 "$B" $w dump id "$id" --cursor "$cursor"
	diff "$dir/want" <(entries "$dir/stdout")
}

@test "pages: every cursor of every type leads to exactly the rest" {
	for type in hash array percpu_hash lpm_trie; do
		make_map $type --fill 500 --max-entries 500
		check 0 "$B" dump id "$id" --page-entries 100 --show-cursors
		cp "$dir/stdout" "$dir/all"
		entries "$dir/all" >"$dir/entries"
		[ "$(wc -l <"$dir/entries")" = 500 ]
		while read -r line cursor; do
			n=$(head -n "$line" "$dir/all" | grep -c '^[0-9]')
			check 0 "$B" dump id "$id" --cursor "$cursor"
			diff <(tail -n +$((n + 1)) "$dir/entries") <(entries "$dir/stdout") || { echo "$type, $n"; false; }
		done < <(grep -n '^# page' "$dir/all" | sed -n 's/^\([0-9]*\):.* cursor \([0-9a-f][0-9a-f]*\)$/\1 \2/p')
	done
}

@test "pages: cursors on stderr where stdout is data for programs" {
	make_map hash --fill 1000 --max-entries 1000
	for o in json jsonl csv bpftool; do
		check 0 "$B" -o $o dump id "$id" --page-entries 100 --show-cursors
		refute grep -q cursor "$dir/stdout"
		grep -q '^page 1: .* cursor [0-9a-f]*$' "$dir/stderr"
	done
}

@test "2: cursors that are damaged or of another map" {
	make_map hash --fill 1000 --max-entries 1000
	a=$id
	check 0 "$B" dump id "$a" --page-entries 100 --show-cursors
	cursor=$(sed -n 's/^# page 1: .* cursor \([0-9a-f]*\)$/\1/p' "$dir/stdout")
	[ -n "$cursor" ]
	fails 2 "" dump id "$a" --cursor zz
	fails 2 "" dump id "$a" --cursor abc
	fails 2 "" dump id "$a" --cursor ""
	check 2 "$B" dump id "$a" --cursor 00
	fails 2 "" dump id "$a" --cursor "${cursor%??}"
	fails 2 "" dump id "$a" --cursor "${cursor}00"
	fails 2 "$dir/none: cannot be read: No such" dump id "$a" --cursor "@$dir/none"
	for at in 0 2 40 80 120 $((${#cursor} - 1)); do # one digit is another
		c=${cursor:at:1}
		if [ "$c" = 0 ]; then d=1; else d=0; fi
		fails 2 "" dump id "$a" --cursor "${cursor:0:at}$d${cursor:at+1}" || { echo "digit $at"; false; }
	done
	make_map hash --fill 10
	fails 2 "belongs to map id" dump id "$id" --cursor "$cursor"
}

@test "--limit" {
	make_map hash --fill 1000 --max-entries 1000
	for n in 1 2 100 999 1000 5000; do
		check 0 "$B" -o jsonl dump id "$id" --limit $n --page-entries 64
		[ "$(wc -l <"$dir/stdout")" = $((n < 1000 ? n : 1000)) ] || { echo "$n"; false; }
	done
	check 0 "$B" -j dump id "$id" --limit 3
	[ "$(jq length "$dir/stdout")" = 3 ]
}

# The page after the last one wanted is on its way when the program ends.
@test "--limit: many at once, none hangs" {
	make_map hash --fill 1000 --max-entries 1000
	cat >"$dir/loop" <<'EOF'
for k in $(seq 60); do
	timeout -s KILL 20 "$1" -o jsonl dump id "$2" --limit 1 --page-entries 64 >/dev/null || exit 1
done
EOF
	loops=()
	for k in 1 2 3 4 5 6; do
		bash "$dir/loop" "$B" "$id" 3>&- &
		loops+=($!)
	done
	for p in "${loops[@]}"; do
		wait "$p"
	done
}

@test "--engine: both give the same entries" {
	make_map hash --fill 1000 --max-entries 1000
	for e in walk batch; do
		check 0 "$B" --engine $e -o csv dump id "$id"
		sort "$dir/stdout" >"$dir/$e"
	done
	cmp "$dir/walk" "$dir/batch"
	make_map lpm_trie --fill 10
	check 0 "$B" --engine walk dump id "$id"
}

# mkmap's entry i of a hash: key i, value 3i + 1 (what its CPU adds apart).
@test "-o json, jsonl: valid, with the right values" {
	make_map hash --fill 100 --max-entries 100
	check 0 "$B" -o json dump id "$id"
	jq -e --argjson id "$id" '.hosts[0] | .status == "ok" and .code == 0 and
		.coherence == "exact" and .map.id == $id and .map.type == "hash" and
		(.entries | length == 100 and all(.value == 3 * .key + 1))' "$dir/stdout"
	jq -e '.summary.entries == 100 and .summary.failed == 0' "$dir/stdout"
	check 0 "$B" -o jsonl dump id "$id"
	jq -s -e --argjson id "$id" 'length == 100 and all(.value == 3 * .key + 1 and .id == $id) and
		(map(.key) | unique | length == 100)' "$dir/stdout"
	[ "$(wc -l <"$dir/stdout")" = 100 ]
}

@test "-o json: integers beyond 2^53 are strings" {
	make_map hash --fill 20
	"$MKMAP" update --id "$id" --key-index 3 --value-index 6004799503160661 # times 3: 2^54 and more
	check 0 "$B" -o jsonl dump id "$id"
	v=$(bpftool -j map lookup id "$id" key 3 0 0 0 | jq -r '.value | reverse | map(ltrimstr("0x")) | join("")')
	v=$((16#$v))
	[ "$v" -gt 9007199254740992 ]
	[ "$(jq -c 'select(.key == 3).value' "$dir/stdout")" = "\"$v\"" ]
	grep -q '"value":4}' "$dir/stdout" || grep -q '"value":4[,}]' "$dir/stdout"
}

@test "-o csv, tsv: valid, with the right values" {
	make_map percpu_hash --fill 20 --name "${u}csv"
	for o in csv tsv; do
		check 0 "$B" -o $o dump id "$id"
		python3 - "$dir/stdout" $o "$id" "${u}csv" <<'PY'
import csv, os, sys
path, kind, id, name = sys.argv[1:]
rows = list(csv.DictReader(open(path, newline=""), strict=True,
                           delimiter="," if kind == "csv" else "\t"))
cpus = len({r["cpu"] for r in rows})
assert len(rows) == 20 * cpus, len(rows)
for r in rows:
    assert r["id"] == id and r["map"] == name and None not in r, r
    # mkmap: value 3i + 1 + cpu
    assert int(r["value"]) == 3 * int(r["key"]) + 1 + int(r["cpu"]), r
PY
	done
}

@test "-o prom: valid, with the right values" {
	make_map hash --fill 20 --name "${u}prom"
	check 0 "$B" -o prom dump id "$id"
	[ "$(grep -c '^bpfleet_map_value{' "$dir/stdout")" = 20 ]
	[ "$(grep -c '^# TYPE bpfleet_map_value ' "$dir/stdout")" = 1 ]
	grep -qE "^bpfleet_map_value\{.*map=\"${u}prom\".*key=\"7\".*\} 22$" "$dir/stdout"
	refute grep -vE '^(# .*|[a-z_]+\{([a-z_]+="([^"\\]|\\["\\n])*",?)*\} [0-9.e+-]+)$' "$dir/stdout"
}

@test "-o table, wide" {
	make_map hash --fill 20
	for o in table wide; do
		check 0 "$B" -o $o dump id "$id"
		[ "$(wc -l <"$dir/stdout")" = 21 ]
		grep -qE '^7\s+22$' "$dir/stdout"
		check 0 "$B" -o $o list
		grep -qE "^$id +hash +${u}m1 +4 +8 +" "$dir/stdout"
	done
}

@test "every output of maps of odd sizes is valid" {
	for size in "1 1" "3 5" "17 3" "2 2" "5 33" "256 4096"; do
		read -r k v <<<"$size"
		make_map hash --key-size "$k" --value-size "$v" --fill 9
		check 0 "$B" -o json dump id "$id"
		jq -e '.hosts[0].entries | length == 9' "$dir/stdout" >/dev/null
		check 0 "$B" -o jsonl dump id "$id"
		[ "$(jq -s length "$dir/stdout")" = 9 ]
		check 0 "$B" -o csv dump id "$id"
		python3 -c 'import csv,sys; r=list(csv.reader(open(sys.argv[1]),strict=True)); assert len(r)==10 and len(set(map(len,r)))==1' "$dir/stdout"
		case $v in # prom has numbers only
		1 | 2 | 4 | 8) check 0 "$B" -o prom dump id "$id" ;;
		*) fails 2 "1, 2, 4 or 8 bytes" -o prom dump id "$id" ;;
		esac
	done
}

@test "an empty map is valid in every output" {
	make_map hash
	for o in table wide json jsonl csv tsv bpftool prom; do
		check 0 "$B" -o $o dump id "$id"
	done
	check 0 "$B" -o json dump id "$id"
	jq -e '.hosts[0].entries == [] and .summary.entries == 0' "$dir/stdout"
}

@test "peek: the head of queue and stack, and only theirs" {
	make_map queue --fill 3
	check 0 "$B" -j peek id "$id"
	[ "$(jq -r .value[0] "$dir/stdout")" = 0x01 ]
	make_map stack --fill 3
	check 0 "$B" -j peek id "$id"
	[ "$(jq -r .value[0] "$dir/stdout")" = 0x07 ]
	make_map queue
	check 3 "$B" peek id "$id"
	make_map hash --fill 3
	fails 2 "no head" peek id "$id"
}

# As bpftool takes a value for maps without keys, "key" may stand for it too.
@test "bloom_filter: is a value in it" {
	make_map bloom_filter --value-size 4 --fill 3 --max-entries 100
	check 0 "$B" lookup id "$id" value 4 0 0 0
	check 3 "$B" lookup id "$id" value 9 9 9 9
	fails 2 "4 bytes, 2 were" lookup id "$id" value 4 0
}

@test "list --fill counts entries" {
	make_map hash --fill 37 --max-entries 100
	a=$id
	make_map array --max-entries 5
	make_map queue --fill 2
	check 0 "$B" -o json list --fill
	[ "$(jq ".hosts[0].maps[] | select(.id == $a).entries" "$dir/stdout")" = 37 ]
	jq -e ".hosts[0].maps[] | select(.id == $id) | has(\"entries\") | not" "$dir/stdout"
	check 0 "$B" list --fill
	grep -E "^$a " "$dir/stdout" | grep -q '37 (37%)'
}

@test "list --pins" {
	make_map hash --pin "$pins/one"
	check 0 "$B" -o json list --pins
	[ "$(jq -c ".hosts[0].maps[] | select(.id == $id).pins | unique" "$dir/stdout")" = "[\"$pins/one\"]" ]
	check 0 "$B" -o wide list --pins
	grep -E "^$id " "$dir/stdout" | grep -q "$pins/one"
}

@test "hosts, version, help" {
	start_agent
	check 0 "$B" -w "$sock" hosts
	grep -q ok "$dir/stdout"
	BPFLEET_HOSTS=$sock check 0 "$B" list
	BPFLEET_HOSTS=ipc:///nonexistent check 6 "$B" list
	for w in version --version -V --help -h; do
		check 0 "$B" $w
		[ -n "$out" ] && [ -z "$err" ]
	done
}

@test "the library: its header alone in C99 and C++17, its example, its names" {
	echo '#include <bpfleet/bpfleet.h>' >"$dir/h.c"
	gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$ROOT/client/include" -fsyntax-only "$dir/h.c"
	g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$ROOT/client/include" -fsyntax-only -x c++ "$dir/h.c"
	make_map hash --fill 3
	start_agent
	[ "$("$BUILD/examples/dump" "id:$id" "$sock" | wc -l)" = 3 ]
	refute grep -v '^bpfleet_' <(nm -g --defined-only "$BUILD/libbpfleet.a" | awk 'NF == 3 {print $3}')
}
