#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# agent.bats: the two processes of the agent: how they start, end and die, what
# privileges they keep, whom they serve, and what their settings do.

load helpers

setup() {
	setup_world
}

teardown() {
	teardown_world
}

socket_gone() {
	[ ! -e "$dir/run/agent.sock" ]
}

new_worker() { # OLD
	worker=$(worker_of "$agent")
	[ -n "$worker" ] && [ "$worker" != "$1" ]
}

# As a user without any right of its own.
as_other() {
	setpriv --reuid=65533 --regid=65533 --clear-groups "$@"
}

@test "starts clean; SIGTERM ends it with 0 and removes the socket" {
	start_agent
	[ -S "$dir/run/agent.sock" ]
	! grep -qiE 'warn|error|fail|cannot' "$log" || { cat "$log"; false; }
	worker=$(worker_of "$agent")
	check 0 "$B" -w "$sock" list
	kill -TERM "$agent"
	rc=0
	wait "$agent" || rc=$?
	[ "$rc" = 0 ] || { cat "$log"; false; }
	socket_gone
	gone_within 1 "$worker"
}

@test "SIGINT ends it too" {
	# A background process of a shell ignores SIGINT unless that is undone.
	config
	env --default-signal=INT "$BUILD/bpfleetd" -c "$dir/conf" --listen "$sock" 2>"$dir/log" 3>&- &
	agent=$!
	started+=("$agent")
	within 10 grep -q 'agent listening' "$dir/log"
	kill -INT "$agent"
	rc=0
	wait "$agent" || rc=$?
	[ "$rc" = 0 ]
	socket_gone
}

@test "a killed worker is replaced, and the log says so" {
	make_map hash --fill 3
	start_agent
	old=$(worker_of "$agent")
	kill -9 "$old"
	within 10 new_worker "$old"
	within 10 "$B" -w "$sock" lookup id "$id" key 1 0 0 0
	check 0 "$B" -w "$sock" -j lookup id "$id" key 1 0 0 0
	[ "$(jq -c .value "$dir/stdout")" = '["0x04","0x00","0x00","0x00","0x00","0x00","0x00","0x00"]' ]
	grep -qiE "worker.*(died|killed|signal)" "$log" || { cat "$log"; false; }
	alive "$agent"
}

@test "a worker that is killed again and again is always replaced" {
	start_agent
	for _ in 1 2 3; do
		old=$(worker_of "$agent")
		kill -9 "$old"
		within 10 new_worker "$old"
		within 10 "$B" -w "$sock" list
	done
	alive "$agent"
}

@test "a command outlives the worker that served it" {
	make_map hash --fill 1000 --max-entries 1000
	start_agent
	old=$(worker_of "$agent")
	mkfifo "$dir/fifo"
	"$B" -w "$sock" -o jsonl dump id "$id" --page-entries 10 >"$dir/fifo" 2>"$dir/err" 3>&- &
	cli=$!
	started+=("$cli")
	{
		head -n 1 >"$dir/entries"
		kill -9 "$old"
		cat >>"$dir/entries"
	} <"$dir/fifo"
	rc=0
	wait "$cli" || rc=$?
	# In full, or it says that it is not: never short without a word.
	if [ "$rc" = 0 ]; then
		# head may have read more than its line
		[ "$(tail -n +2 "$dir/entries" | grep -c '^{.*}$')" -gt 0 ]
	else
		[ -s "$dir/err" ]
	fi
}

@test "a killed broker takes its worker along; the next start works" {
	start_agent
	worker=$(worker_of "$agent")
	kill -9 "$agent"
	wait "$agent" || true
	gone_within 3 "$worker"
	start_agent
	check 0 "$B" -w "$sock" list
}

@test "a second agent on the same socket is refused" {
	start_agent
	config
	check 1 "$BUILD/bpfleetd" -c "$dir/conf" --listen "$sock"
	[[ $err == *"$dir/run/agent.sock"*"another agent"* || $err == *"another agent"*"$dir/run/agent.sock"* ]] || { echo "$err"; false; }
	check 0 "$B" -w "$sock" --timeout 5 list # the first one has lost nothing
}

@test "a file that is no socket is not removed" {
	mkdir "$dir/run"
	echo precious >"$dir/run/agent.sock"
	config
	rc=0
	timeout 10 "$BUILD/bpfleetd" -c "$dir/conf" --listen "$sock" 2>"$dir/stderr" || rc=$?
	[ "$rc" = 1 ] || [ "$rc" = 2 ] || { echo "exit $rc"; cat "$dir/stderr"; false; }
	[ "$(cat "$dir/run/agent.sock")" = precious ]
}

@test "a directory that the worker cannot write to is named with its uid" {
	mkdir "$dir/run"
	config
	check 1 timeout 20 "$BUILD/bpfleetd" -c "$dir/conf" --listen "$sock"
	grep -q "agent.sock: uid $(id -u nobody) may not make a file there" "$dir/stderr"
}

@test "tcp is refused" {
	check 2 "$BUILD/bpfleetd" --listen tcp://127.0.0.1:7117
	[[ $err == *tcp* ]]
	config 'listen = tcp://127.0.0.1:7117'
	check 2 "$BUILD/bpfleetd" -c "$dir/conf"
	[[ $err == *tcp* ]]
}

@test "mistakes in settings name file and line" {
	for line in 'nonsense = 1' 'log-level = loud' 'maps = nonsense' \
		'allow-users = no_such_user_here' 'listen = nonsense'; do
		config "$line"
		for opt in "" --check-config; do
			check 2 timeout 10 "$BUILD/bpfleetd" -c "$dir/conf" $opt
			[[ $err == *"$dir/conf:3:"* ]] || { echo "$line: $err"; false; }
		done
	done
	printf '[other]\nx = 1\n' >"$dir/conf"
	check 2 timeout 10 "$BUILD/bpfleetd" -c "$dir/conf"
	[[ $err == *"$dir/conf:"[12]":"* ]] || { echo "$err"; false; }
	check 2 timeout 10 "$BUILD/bpfleetd" -c "$dir/no_such_file"
	[[ $err == *no_such_file* ]]
	check 2 timeout 10 "$BUILD/bpfleetd" --nonsense
	[[ $err == *--nonsense* ]]
}

@test "--check-config prints what is in force, as settings" {
	config 'allow-users = daemon' 'maps = name:foo*' 'maps = id:7' 'log-level = debug'
	check 0 "$BUILD/bpfleetd" -c "$dir/conf" --listen "$sock" --check-config
	for line in "listen = $sock" "secret = $dir/secret" 'log-level = debug'; do
		grep -qxF "$line" "$dir/stdout" || { echo "no '$line'"; cat "$dir/stdout"; false; }
	done
	grep -q 'name:foo\*' "$dir/stdout"
	grep -q 'id:7' "$dir/stdout"
	[ ! -e "$dir/run" ] && [ ! -e "$dir/secret" ]
	# They can be read back.
	cp "$dir/stdout" "$dir/conf2"
	check 0 "$BUILD/bpfleetd" -c "$dir/conf2" --check-config
}

@test "the worker has no privileges" {
	start_agent
	worker=$(worker_of "$agent")
	status=/proc/$worker/status
	grep -qE '^CapEff:\s0000000000000000$' "$status"
	grep -qE '^CapPrm:\s0000000000000000$' "$status"
	grep -qE '^NoNewPrivs:\s1$' "$status"
	read -r _ ruid euid suid fsuid < <(grep '^Uid:' "$status")
	for n in $ruid $euid $suid $fsuid; do [ "$n" != 0 ]; done
	read -r _ rgid egid sgid fsgid < <(grep '^Gid:' "$status")
	for n in $rgid $egid $sgid $fsgid; do [ "$n" != 0 ]; done
	refute grep -qE '^Groups:.*\b0\b' "$status"
}

@test "the worker is filtered, each thread of it, and can gain nothing" {
	start_agent
	worker=$(worker_of "$agent")
	for status in /proc/"$worker"/task/*/status; do
		grep -qE '^Seccomp:\s2$' "$status"
		grep -qE '^CapBnd:\s0000000000000000$' "$status"
		grep -qE '^NoNewPrivs:\s1$' "$status"
	done
}

@test "the broker keeps the capabilities that --check-config names, no more" {
	start_agent
	"$BUILD/bpfleetd" --config "$dir/conf" --check-config >"$dir/out"
	has() { # NAME NUMBER: what is named is held, if the test holds it
		grep -q "^;   $1 " "$dir/out"
		expected=$((expected | (1 << $2) & 0x$(sed -n 's/^CapEff:\s//p' /proc/self/status)))
	}
	expected=0
	has cap_sys_admin 21
	has cap_bpf 39
	has cap_dac_read_search 2
	has cap_chown 0
	has cap_setuid 7
	has cap_setgid 6
	has cap_setpcap 8
	has cap_kill 5
	[ "$(grep -c '^;   cap_' "$dir/out")" = 8 ]
	for set in CapEff CapPrm CapBnd; do
		got=$(sed -n "s/^$set:\s//p" "/proc/$agent/status")
		[ $((0x$got)) = $expected ]
	done
	grep -qE '^NoNewPrivs:\s1$' "/proc/$agent/status"
	grep -q '^;   seccomp: ' "$dir/out"
	grep -q '^;   landlock' "$dir/out"
}

@test "the secret is for its owner only" {
	start_agent
	[ "$(stat -c '%a %s %u' "$dir/secret")" = "600 32 0" ]
}

@test "a user who is not allowed is refused" {
	start_agent
	rc=0
	as_other "$B" -w "$sock" list >"$dir/stdout" 2>"$dir/stderr" || rc=$?
	err=$(cat "$dir/stderr")
	[ "$rc" = 4 ] || [[ $err == *ermission\ denied* ]] || { echo "$rc: $err"; false; }
	[ ! -s "$dir/stdout" ]
	kill "$agent"
	wait "$agent"
	# With others allowed the socket is open, and the kernel's word decides.
	config 'allow-users = daemon'
	start_agent
	check 4 as_other "$B" -w "$sock" list
	[ ! -s "$dir/stdout" ]
	one_line ""
}

@test "allow-users and allow-groups let users in" {
	make_map hash --fill 3
	config 'allow-users = daemon'
	start_agent
	check 0 setpriv --reuid=daemon --regid=65533 --clear-groups "$B" -w "$sock" -j dump id "$id"
	[ "$(jq length "$dir/stdout")" = 3 ]
	check 0 "$B" -w "$sock" list
	kill "$agent"
	wait "$agent"
	config 'allow-groups = daemon'
	start_agent
	check 0 setpriv --reuid=65533 --regid=daemon --clear-groups "$B" -w "$sock" -j dump id "$id"
	check 4 as_other "$B" -w "$sock" -j dump id "$id"
}

@test "SIGHUP reads settings again; wrong ones change nothing" {
	make_map hash --fill 3 --name "${u}one"
	make_map hash --fill 3 --name "${u}two"
	config "maps = name:${u}one"
	start_agent
	check 0 "$B" -w "$sock" show "${u}one"
	check 3 "$B" -w "$sock" show "${u}two"
	config "nonsense = 1"
	kill -HUP "$agent"
	within 5 grep -q 'conf:3:' "$log" || { cat "$log"; false; }
	check 0 "$B" -w "$sock" show "${u}one"
	check 3 "$B" -w "$sock" show "${u}two"
	config "maps = name:${u}two"
	kill -HUP "$agent"
	within 5 "$B" -w "$sock" show "${u}two"
	check 3 "$B" -w "$sock" show "${u}one"
}

@test "maps = hides all others, however they are named" {
	make_map hash --fill 3 --name "${u}seen" --pin "$pins/seen"
	seen=$id
	make_map hash --fill 3 --name "${u}hidden" --pin "$pins/hidden"
	for rule in "name:${u}see*" "pin:$pins/seen" "id:$seen"; do
		config "maps = $rule"
		start_agent
		for sel in "name ${u}seen" "id $seen" "pinned $pins/seen"; do
			check 0 "$B" -w "$sock" -j dump $sel || { echo "$rule: $sel"; false; }
			[ "$(jq length "$dir/stdout")" = 3 ]
		done
		for sel in "name ${u}hidden" "id $id" "pinned $pins/hidden" "name:${u}hid*"; do
			check 3 "$B" -w "$sock" dump $sel || { echo "$rule: $sel"; false; }
			check 3 "$B" -w "$sock" show $sel
			check 3 "$B" -w "$sock" lookup $sel key 0 0 0 0
		done
		check 0 "$B" -w "$sock" -j list
		[ "$(jq -c 'map(.id)' "$dir/stdout")" = "[$seen]" ]
		kill "$agent"
		wait "$agent"
	done
}

# In a PID namespace of its own nothing can hide.
@test "a private agent ends with its command" {
	make_map hash --fill 3
	check 0 unshare --pid --fork --mount-proc bash -c '
		'"'$B'"' -j dump id '"$id"' >/dev/null || exit 10
		for i in $(seq 60); do
			[ -n "$(pgrep bpfleet)" ] || exit 0
			sleep 0.05
		done
		ps ax
		exit 11'
}

@test "a private agent ends when its command is killed" {
	make_map hash --fill 60000 --max-entries 60000
	mkfifo "$dir/fifo"
	exec 7<>"$dir/fifo" # nobody reads: the command waits in the middle
	"$B" -o jsonl dump id "$id" >"$dir/fifo" 2>/dev/null 3>&- 7>&- &
	cli=$!
	started+=("$cli")
	within 10 pgrep -P "$cli" >/dev/null
	broker=$(pgrep -P "$cli" | head -n 1)
	within 10 pgrep -P "$broker" >/dev/null
	worker=$(worker_of "$broker")
	sleep 0.3
	alive "$cli" && alive "$broker" && alive "$worker"
	kill -9 "$cli"
	gone_within 3 "$cli" "$broker" "$worker"
	exec 7>&-
}

@test "--lifeline: a newline when ready, the end when it closes" {
	config
	mkfifo "$dir/line"
	# Both directions in one: a socket pair, as the command line tool has it.
	python3 - "$BUILD/bpfleetd" "$dir" <<'PY' 3>&-
import socket, subprocess, sys
a, b = socket.socketpair()
p = subprocess.Popen([sys.argv[1], "-c", sys.argv[2] + "/conf", "--listen",
    "ipc://" + sys.argv[2] + "/run/agent.sock", "--lifeline", str(b.fileno())],
    pass_fds=[b.fileno()], stderr=subprocess.DEVNULL)
b.close()
a.settimeout(10)
try:
    assert a.recv(1) == b"\n"
    a.close()
    assert p.wait(5) == 0, p.returncode
finally:
    p.kill()
PY
	socket_gone
}

@test "--version and --help go to stdout" {
	for opt in --version -V --help -h; do
		check 0 "$BUILD/bpfleetd" $opt
		[ -n "$out" ] && [ -z "$err" ]
	done
}

@test "200 clients at once" {
	make_map hash --fill 500 --max-entries 500
	start_agent
	clients=()
	for i in $(seq 200); do
		"$B" -w "$sock" -o jsonl dump id "$id" >"$dir/c$i" 2>>"$dir/cerr" 3>&- &
		clients+=($!)
	done
	for p in "${clients[@]}"; do wait "$p" || { cat "$dir/cerr"; false; }; done
	[ "$(cat "$dir"/c[0-9]* | wc -l)" = 100000 ]
}

@test "SIGHUP with another address: the old socket is gone, the new one serves" {
	config "listen = ipc://$dir/run/one.sock"
	"$BUILD/bpfleetd" --config "$dir/conf" >/dev/null 2>"$dir/log" 3>&- &
	agent=$!
	started+=("$agent")
	within 10 test -S "$dir/run/one.sock"
	within 10 grep -q 'agent listening' "$dir/log"
	config "listen = ipc://$dir/run/two.sock"
	kill -HUP "$agent"
	within 10 "$B" -w "ipc://$dir/run/two.sock" list
	[ ! -e "$dir/run/one.sock" ]
}

@test "a service manager is told: ready, again after a reload, stopping" {
	config
	python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode(), flush=True)' "$dir/notify" >"$dir/states" 3>&- &
	started+=("$!")
	within 10 test -S "$dir/notify"
	NOTIFY_SOCKET=$dir/notify start_agent
	within 5 grep -q READY=1 "$dir/states"
	kill -HUP "$agent"
	within 10 eval '[ "$(grep -c READY=1 "$dir/states")" = 2 ]'
	kill "$agent"
	within 10 grep -q STOPPING=1 "$dir/states"
	[ "$(head -n 1 "$dir/states")" = READY=1 ]
}

# reload_in_vain LINE...: new settings, and SIGHUP; the old ones must still serve after.
reload_in_vain() {
	local n
	n=$(grep -c 'settings stay as they were\|settings before it are back' "$log") || true
	config "$@"
	kill -HUP "$agent"
	within 10 eval '[ "$(grep -c "settings stay as they were\|settings before it are back" "$log")" -gt '"$n"' ]' ||
		{ cat "$log"; false; }
	within 10 "$B" -w "$sock" show "${u}one"
}

# The agent's one address is in its settings, not on its command line.
start_from_settings() {
	config "listen = $sock" "$@"
	log=$dir/log
	"$BUILD/bpfleetd" --config "$dir/conf" </dev/null >/dev/null 2>"$log" 3>&- &
	agent=$!
	started+=("$agent")
	within 10 grep -q 'agent listening' "$log" || { cat "$log"; false; }
}

@test "SIGHUP with settings that cannot be served from: the old ones return" {
	make_map hash --fill 3 --name "${u}one"
	echo precious >"$dir/file"
	start_agent # with another agent's socket
	other=$sock sock=ipc://$dir/run/mine.sock
	start_from_settings "audit = $dir/audit"
	mkdir "$dir/closed"
	port=$((21000 + RANDOM % 20000))
	python3 -c 'import socket, sys, time
s = socket.socket(); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen()
print("up", flush=True); time.sleep(100)' "$port" >"$dir/taken" 3>&- &
	started+=("$!")
	within 10 grep -q up "$dir/taken"
	reload_in_vain "listen = ipc://$dir/file"
	[ "$(cat "$dir/file")" = precious ]
	reload_in_vain "listen = $other"
	check 0 "$B" -w "$other" show "${u}one"
	reload_in_vain "listen = ipc://$dir/closed/x.sock"
	reload_in_vain "listen = $sock" "metrics = 127.0.0.1:$port"
	reload_in_vain "listen = $sock" "user = nosuch"
	reload_in_vain "listen = $sock" "audit = $dir/none/audit"
	n=$(wc -l <"$dir/audit")
	check 0 "$B" -w "$sock" show "${u}one"
	[ "$(wc -l <"$dir/audit")" -gt "$n" ]
}

@test "SIGHUP while an earlier one is at work is not lost" {
	make_map hash --fill 3 --name "${u}one"
	make_map hash --fill 3 --name "${u}two"
	start_from_settings
	kill -STOP "$(worker_of "$agent")" # it will be killed in 5 seconds
	config "listen = $sock" "maps = name:${u}one"
	kill -HUP "$agent"
	within 3 grep -q 'agent reload' "$log"
	config "listen = $sock" "maps = name:${u}two"
	kill -HUP "$agent"
	within 15 "$B" -w "$sock" --connect-timeout 1 show "${u}two"
	check 3 "$B" -w "$sock" show "${u}one"
}

@test "SIGHUP with another user: the new worker is that one" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	start_from_settings "user = games"
	[ "$(awk "/^Uid/{print \$2}" "/proc/$(worker_of "$agent")/status")" = "$(id -u games)" ]
	sock=ipc://$dir/daemon/agent.sock # a directory that it may write
	config "listen = $sock" "user = daemon"
	kill -HUP "$agent"
	within 10 eval '[ "$(awk "/^Uid/{print \$2}" "/proc/$(worker_of "$agent")/status")" = "$(id -u daemon)" ]'
	within 10 "$B" -w "$sock" list
}

@test "settings that are no text, others may write, or that never end" {
	check_conf() { check "$1" timeout 5 "$BUILD/bpfleetd" --config "$dir/conf" --check-config; }
	# The tail of a long comment is no setting.
	printf '[agent]\n# %s\nmaps = name:flows\n' "$(printf 'x%.0s' {1..197})maps = name:*" >"$dir/conf"
	check_conf 2
	one_line "conf:2: longer than 198 bytes"
	printf '[agent]\nmaps = name:flows\0xxx\n' >"$dir/conf"
	check_conf 2
	one_line "conf:2: a NUL byte"
	head -c 100000 /dev/zero >"$dir/conf"
	check_conf 2
	one_line "conf:1: a NUL byte"
	head -c 2000000 /dev/zero >"$dir/conf"
	check_conf 2
	config "maps = name:flows"
	chmod 666 "$dir/conf"
	check_conf 2
	one_line "lets others write it"
	rm "$dir/conf"
	mkfifo "$dir/conf"
	check_conf 2
	one_line "not a file"
	check 2 timeout 5 "$BUILD/bpfleetd" --config /dev/zero --check-config
}

@test "started without stdin, stdout and stderr, it serves" {
	make_map hash --fill 3
	config
	"$BUILD/bpfleetd" --config "$dir/conf" --listen "$sock" <&- >&- 2>&- 3>&- &
	agent=$!
	started+=("$agent")
	within 10 "$B" -w "$sock" show id "$id"
	check 0 "$B" -w "$sock" -o jsonl dump id "$id"
	[ "$(wc -l <"$dir/stdout")" = 3 ]
	rc=0
	"$B" -w "$sock" dump id "$id" >&- 2>"$dir/stderr" || rc=$?
	[ "$rc" != 0 ] && grep -q 'cannot write' "$dir/stderr"
}

@test "who asks for a pin learns nothing of other files" {
	start_agent
	for path in /etc/passwd /etc/nosuch /etc/passwd/x "$pins/../../../../etc/passwd" "$pins/nosuch"; do
		check 3 "$B" -w "$sock" show pinned "$path"
		one_line "pin $path: not found"
	done
}

@test "the worker ends with its broker, also in the middle of dumps" {
	make_map hash --fill 100000 --max-entries 100000
	start_agent
	worker=$(worker_of "$agent")
	for k in 1 2 3; do
		"$B" -w "$sock" --page-entries 50 -o json dump id "$id" >/dev/null 2>&1 3>&- &
		started+=("$!")
	done
	sleep 0.3
	kill -9 "$agent"
	gone_within 2 "$worker"
}
