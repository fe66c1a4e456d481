# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# helpers.bash: what the system tests share: maps that live as long as a test,
# agents on sockets of their own, and cleaning all of it up.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=$(cd "${BUILD:-$ROOT/build}" && pwd)
B=$BUILD/bpfleet
MKMAP=$ROOT/build/tests/mkmap

setup_world() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
	pins=/sys/fs/bpf/bpfleet-test-$$ # bpffs refuses dots in names
	mkdir -p "$pins"
	dir=$(mktemp -d)
	chmod 755 "$dir" # users other than root go through it to the socket
	sock=ipc://$dir/run/agent.sock
	u=t$$_ # names of maps start with this; 15 characters are all there is
	n_maps=0
	started=()
	agent=
	unset BPFLEET_HOSTS BPFLEET_TIMEOUT
}

teardown_world() {
	local p
	for p in "${started[@]}"; do
		kill "$p" 2>/dev/null || true
	done
	for p in "${started[@]}"; do
		kill_after 5 "$p"
	done
	[ -z "${pins:-}" ] || rm -rf "$pins"
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# kill_after SECONDS PID: by force, if it does not end in that time.
kill_after() {
	gone_within "$1" "$2" || kill -9 "$2" 2>/dev/null || true
	wait "$2" 2>/dev/null || true
}

# A zombie has ended too: nobody but its parent can do more about it.
alive() {
	local state
	state=$(sed -n 's/^State:\s*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null) || return 1
	[ -n "$state" ] && [ "$state" != Z ] && [ "$state" != X ]
}

# gone_within SECONDS PID...
gone_within() {
	local end=$((${EPOCHREALTIME/./} + $1 * 1000000)) p
	shift
	for p in "$@"; do
		while alive "$p"; do
			[ "${EPOCHREALTIME/./}" -lt "$end" ] || return 1
			sleep 0.02
		done
	done
}

# within SECONDS COMMAND...: until it succeeds.
within() {
	local end=$((${EPOCHREALTIME/./} + $1 * 1000000))
	shift
	until "$@"; do
		[ "${EPOCHREALTIME/./}" -lt "$end" ] || return 1
		sleep 0.05
	done
}

# make_map TYPE [mkmap's OPTION]...: it lives until teardown; sets id.
# Skips the test if this kernel has no such map.
make_map() {
	local type=$1 out rc=0
	shift
	n_maps=$((n_maps + 1))
	out=$dir/map.$n_maps
	"$MKMAP" --name "${u}m$n_maps" "$@" --hold "$type" \
		</dev/null >"$out" 2>"$out.err" 3>&- &
	local p=$!
	started+=("$p")
	while alive "$p" && ! grep -q '^id ' "$out"; do
		sleep 0.01
	done
	if ! alive "$p"; then
		wait "$p" || rc=$?
		cat "$out.err"
		[ "$rc" != 77 ] || skip "no $type here: $(cat "$out.err")"
		return 1
	fi
	id=$(sed -n 's/^id //p' "$out")
}

# config LINE...: settings in $dir/conf, with a secret of the test's own.
config() {
	printf '%s\n' '[agent]' "secret = $dir/secret" "$@" >"$dir/conf"
}

# start_agent [OPTION]...: listens on $sock; sets agent (the broker) and log.
start_agent() {
	[ -e "$dir/conf" ] || config
	log=$dir/log.$((${n_agents:-0} + 1))
	n_agents=$((${n_agents:-0} + 1))
	"$BUILD/bpfleetd" --config "$dir/conf" --listen "$sock" "$@" \
		</dev/null >/dev/null 2>"$log" 3>&- &
	agent=$!
	started+=("$agent")
	within 10 grep -q 'agent listening' "$log" || { cat "$log"; return 1; }
}

# A bare `!` does not fail a test.
refute() {
	if "$@"; then return 1; fi
}

worker_of() {
	pgrep -P "$1" | head -n 1
}

# check STATUS COMMAND...: both streams apart, in $out and $err (files too).
check() {
	local want=$1 rc=0
	shift
	"$@" >"$dir/stdout" 2>"$dir/stderr" 3>&- || rc=$?
	out=$(tr -d '\0' <"$dir/stdout")
	err=$(tr -d '\0' <"$dir/stderr")
	[ "$rc" = "$want" ] || {
		echo "exit $rc, not $want: $*"
		head -c 2000 "$dir/stdout" "$dir/stderr"
		return 1
	}
}

# The last error is one line that names the program and holds the text $1.
one_line() {
	[ "$(wc -l <"$dir/stderr")" = 1 ] && [[ $err == bpfleet*": "*"$1"* ]] || {
		echo "not one line with '$1':"
		cat "$dir/stderr"
		return 1
	}
}
