#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# run.sh: runs every test, plain and under the sanitizers, and counts them.
# Its last line is `N passed, N failed, N skipped`; exit 1 if any failed.
# Env: ONLY=plain|san to run one half, FILTER=regex for names of test files.
set -u
cd "$(dirname "$0")/.." || exit 1

log=build/test.log
mkdir -p build
: >"$log"
passed=0 failed=0 skipped=0

# Counts the TAP lines of one test file and shows what went wrong.
count() {
	local name=$1 out=$2 status=$3 p f s
	s=$(grep -ciE '^ok .*# skip' "$out")
	p=$(($(grep -cE '^ok ' "$out") - s))
	f=$(grep -cE '^not ok ' "$out")
	if [ "$status" != 0 ] && [ "$f" = 0 ]; then
		f=1 # died before it could say so
		echo "not ok $name ended with status $status" >>"$out"
	fi
	if [ $((p + f + s)) = 0 ]; then
		f=1
		echo "not ok $name ran no test" >>"$out"
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	printf '%-36s %4d passed, %d failed, %d skipped\n' "$name" "$p" "$f" "$s"
	grep -iE '^ok .*# skip' "$out" | sed 's/^ok [0-9]* */    SKIP /'
	[ "$f" = 0 ] || sed 's/^/    /' "$out" | tail -n 80
	{ echo "== $name"; cat "$out"; } >>"$log"
}

run_one() {
	local name=$1 out status
	shift
	[[ $name =~ ${FILTER:-.} ]] || return 0
	out=$(mktemp)
	timeout 600 "$@" >"$out" 2>&1 </dev/null
	status=$?
	count "$name" "$out" "$status"
	rm -f "$out"
}

# A short run of each fuzz target: finds what is found at once.  Inputs that
# are kept (tests/fuzz/corpus) are read; new ones go to a scratch directory.
run_fuzzers() {
	local f name out scratch dirs
	for f in build/fuzz/fuzz_*; do
		[ -x "$f" ] && [[ $f != *.d ]] || continue
		name=$(basename "$f")
		[[ fuzz/$name =~ ${FILTER:-.} ]] || continue
		out=$(mktemp)
		scratch=$(mktemp -d)
		dirs=("$scratch")
		[ -d "tests/fuzz/corpus/$name" ] &&
			dirs+=("tests/fuzz/corpus/$name")
		if timeout 120 "$f" -max_total_time=5 -print_final_stats=0 \
			"${dirs[@]}" >"$out" 2>&1 </dev/null; then
			echo "ok 1 $name" >"$out"
		else
			echo "not ok 1 $name" >>"$out"
		fi
		count "fuzz/$name" "$out" 0
		rm -rf "$out" "$scratch"
	done
	rm -f crash-* leak-* timeout-* oom-*
}

half() {
	local dir=$1 tag=$2 t
	export BUILD=$PWD/$dir TAG=$tag
	export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
	for t in "$dir"/tests/test_*; do
		[ -x "$t" ] && [[ $t != *.o && $t != *.d ]] || continue
		run_one "$tag/$(basename "$t")" env CMOCKA_MESSAGE_OUTPUT=TAP "$t"
	done
	# The worker is not dumpable, so a leak checker cannot look at it.
	export ASAN_OPTIONS=detect_leaks=0
	for t in tests/system/*.bats; do
		[ -e "$t" ] || continue
		run_one "$tag/$(basename "$t")" bats --tap "$t"
	done
}

mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf 2>/dev/null
run_one layers bash tests/layers.sh
[ "${ONLY:-plain}" = plain ] && half build plain
[ "${ONLY:-san}" = san ] && half build/san san
run_fuzzers
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
