#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# secure.bats: over tcp: keys, who is let in and who is refused and how, files
# that are wrong, sessions that end, and floods of strangers.

load helpers

setup() {
	setup_world
	port=$((21000 + RANDOM % 20000))
	tcp=tcp://127.0.0.1:$port
	umask 077
	"$B" genkey >"$dir/op.key"
	"$B" pubkey <"$dir/op.key" >"$dir/op.pub"
	umask 022
	pub=$(cat "$dir/op.pub")
}

teardown() {
	teardown_world
}

# authorize LINE...: what stands in authorized_clients.
authorize() {
	printf '%s\n' "$@" >"$dir/clients"
}

# start_tcp [OPTION]...: an agent on tcp; sets agent_key.
start_tcp() {
	[ -e "$dir/clients" ] || authorize "$pub operator"
	start_agent --listen "$tcp" --key "$dir/agent.key" --make-key \
		--authorized-clients "$dir/clients" "$@"
	agent_key=$(sed -n 's/^info agent key public=//p' "$log" | tail -n 1)
	[ -e "$dir/known" ] || echo "$tcp $agent_key" >"$dir/known"
}

# The options of the operator, before the words of a command.
remote() {
	"$B" -w "$tcp" --key "$dir/op.key" --known-agents "$dir/known" "$@"
}

# refused STATUS TEXT WORD...: one line with TEXT, no data.
refused() {
	local want=$1 text=$2
	shift 2
	check "$want" remote "$@"
	[ -z "$out" ] || { echo "on stdout: $out"; return 1; }
	one_line "$text"
}

# The agent's log has a line with all these texts.
logged() {
	local text lines
	lines=$(cat "$log")
	for text; do
		lines=$(grep -F -- "$text" <<<"$lines") || { echo "no line with $*"; cat "$log"; return 1; }
	done
}

@test "genkey and pubkey: filters, as wg's" {
	[ "${#pub}" = 44 ]
	[ "$("$B" genkey)" != "$("$B" genkey)" ]
	[ "$(stat -c %a "$dir/op.key")" = 600 ]
	# RFC 7748, 6.1: Alice's keys.
	k=$(printf '\x77\x07\x6d\x0a\x73\x18\xa5\x7d\x3c\x16\xc1\x72\x51\xb2\x66\x45\xdf\x4c\x2f\x87\xeb\xc0\x99\x2a\xb1\x77\xfb\xa5\x1d\xb9\x2c\x2a' | base64)
	want=$(printf '\x85\x20\xf0\x09\x89\x30\xa7\x54\x74\x8b\x7d\xdc\xb4\x3e\xf7\x5a\x0d\xbf\x3a\x0d\x26\x38\x1a\xf4\xeb\xa4\xa9\x8e\xaa\x9b\x4e\x6a' | base64)
	[ "$(echo "$k" | "$B" pubkey)" = "$want" ]
	for bad in "" x "${pub}x" "$pub $pub" "$(printf 'A%.0s' $(seq 100))"; do
		rc=0
		"$B" pubkey <<<"$bad" >"$dir/stdout" 2>"$dir/stderr" || rc=$?
		[ "$rc" = 2 ] && [ ! -s "$dir/stdout" ]
	done
	check 0 "$B" genkey # to a file of mode 644
	[[ $err == *"others can read"* ]]
	rc=0
	"$B" genkey >/dev/full 2>/dev/null || rc=$?
	[ "$rc" = 1 ]
}

@test "everything works over tcp as over ipc" {
	make_map hash --fill 5000 --max-entries 5000
	start_tcp
	for words in "-j dump id $id" "-o jsonl dump id $id" "-o csv dump id $id" \
		"dump id $id --page-entries 100 --show-cursors" \
		"-j show id $id" "lookup id $id key 7 0 0 0"; do
		check 0 "$B" -w "$sock" $words
		cp "$dir/stdout" "$dir/local"
		check 0 remote $words
		cmp <(sed 's/cursor .*//' "$dir/local") <(sed 's/cursor .*//' "$dir/stdout")
	done
	check 0 remote -o json list
	jq -e --argjson id "$id" 'any(.hosts[0].maps[]; .id == $id)' "$dir/stdout"
	make_map queue --fill 3
	check 0 remote peek id "$id"
	check 0 remote hosts
	BPFLEET_HOSTS=$tcp BPFLEET_KEY=$dir/op.key BPFLEET_KNOWN_AGENTS=$dir/known check 0 "$B" list
	XDG_CONFIG_HOME=$dir/config check 2 "$B" -w "$tcp" list
	one_line "$dir/config/bpfleet/id.key"
}

@test "entries of every size pass: 64 KiB keys, values of 1 MiB" {
	start_tcp
	make_map hash --key-size 65000 --value-size 64 --fill 3
	check 0 remote -o csv dump id "$id"
	make_map hash --value-size 1000000 --fill 3
	check 0 remote -o csv dump id "$id"
	[ "$(wc -l <"$dir/stdout")" = 4 ]
}

@test "4: an unknown client key" {
	authorize
	start_tcp
	refused 4 "denied" list
	[[ $err == *"$pub"* ]]
	logged outcome=denied "unknown key $pub"
}

@test "4: another agent key than the known one; an unknown agent" {
	start_tcp
	echo "$tcp $pub" >"$dir/known" # some other key
	refused 4 "$agent_key" list
	[[ $err == *"$dir/known:1"* ]]
	: >"$dir/known"
	refused 4 "$agent_key" list
	[[ $err == *"hosts --trust"* ]]
	refute grep -q 'op=' "$log" # it was never told who we are
	check 0 remote hosts --trust
	grep -qF "$tcp $agent_key" "$dir/known"
	check 0 remote list
	echo "$tcp $pub" >"$dir/known"
	check 4 remote hosts
	one_line "$agent_key"
	[[ $out == *denied* ]]
	check 4 remote hosts --trust # trust is for new ones only
	grep -qF "$tcp $pub" "$dir/known"
}

@test "4: an expired line; one that is not yet" {
	authorize "expires=\"20200101\" $pub old"
	start_tcp
	refused 4 "denied" list
	refute grep -q expired "$dir/stderr"
	logged outcome=denied expired 'comment="old"'
	authorize "expires=\"29990101\" $pub new"
	kill -HUP "$agent"
	within 10 grep -q 'settings=new clients=1' "$log"
	within 10 remote list >/dev/null
}

@test "4: an operation that the line does not allow" {
	make_map hash --fill 3
	authorize "ops=\"list,show\" $pub reader"
	start_tcp
	check 0 remote list
	check 0 remote show id "$id"
	refused 4 "does not allow dump" dump id "$id"
	refused 4 "does not allow lookup" lookup id "$id" key 0 0 0 0
	logged op=dump outcome=denied
}

@test "4: a map that the line does not allow, whether it is there or not" {
	make_map hash --fill 3 --name "${u}open"
	a=$id
	make_map hash --fill 3 --name "${u}other" --pin "$pins/other"
	authorize "maps=\"name:${u}o*n\" $pub limited"
	start_tcp
	check 0 remote -o jsonl dump id "$a"
	refused 4 "does not allow that map" dump id "$id"
	refused 4 "does not allow that map" dump id 4000000000
	refused 4 "does not allow that map" dump pinned "$pins/other"
	refused 4 "does not allow that map" dump pinned "$pins/none"
	check 0 remote -o json list
	[ "$(jq -c "[.hosts[0].maps[].id]" "$dir/stdout")" = "[$a]" ]
	check 3 remote dump name "${u}other"
	logged "map=$id" outcome=denied
	logged "pin=\"$pins/none\"" outcome=denied
}

@test "4: from another address than the line allows" {
	authorize "from=\"10.0.0.0/8,127.0.0.2\" $pub elsewhere"
	start_tcp
	refused 4 "denied" list
	logged outcome=denied "may not come from this address" from=127.0.0.1:
	authorize "from=\"127.0.0.0/8\" $pub here"
	kill -HUP "$agent"
	within 10 grep -q 'settings=new' "$log"
	within 10 remote list >/dev/null
}

@test "rate: a client that asks more is told so, and gets on when it waits" {
	authorize "rate=\"3/s\" $pub slow"
	start_tcp
	began=$(date +%s)
	for k in 1 2 3 4; do # two requests each
		check 0 remote list
	done
	[ $(($(date +%s) - began)) -ge 1 ]
	logged code=5010 "more requests than the rate"
}

@test "revoked: the session ends at SIGHUP, in the middle of a dump" {
	make_map hash --fill 200000 --max-entries 200000
	authorize "rate=\"10/s\" $pub operator"
	start_tcp
	remote -o csv --page-entries 1000 dump id "$id" >"$dir/long" 2>"$dir/long.err" 3>&- &
	long=$!
	within 10 grep -q 'op=dump' "$log"
	authorize
	kill -HUP "$agent"
	rc=0
	wait "$long" || rc=$?
	[ "$rc" = 5 ] || { echo "exit $rc"; cat "$dir/long.err"; false; }
	grep -q denied "$dir/long.err"
	[ "$(wc -l <"$dir/long")" -lt 200000 ]
}

@test "a dump goes on over a restart of the agent, and over a new worker" {
	make_map hash --fill 200000 --max-entries 200000
	authorize "rate=\"20/s\" $pub operator"
	start_tcp
	remote -o csv --page-entries 5000 dump id "$id" >"$dir/long" 2>"$dir/long.err" 3>&- &
	long=$!
	within 10 grep -q 'op=dump' "$log"
	kill -9 "$(worker_of "$agent")"
	sleep 1
	kill "$agent"
	wait "$agent"
	start_tcp
	wait "$long" || { cat "$dir/long.err"; false; }
	[ "$(tail -n +2 "$dir/long" | sort -u | wc -l)" = 200000 ]
	[ "$(wc -l <"$dir/long")" = 200001 ]
}

@test "files that others can read or write are refused, and named" {
	start_tcp
	chmod 644 "$dir/op.key"
	check 4 remote list
	one_line "$dir/op.key"
	chmod 600 "$dir/op.key"
	echo nonsense >"$dir/op.key"
	check 2 remote list
	one_line "$dir/op.key"
	check 2 "$B" -w "$tcp" --key "$dir/none" --known-agents "$dir/known" list
	one_line "$dir/none"
	kill "$agent"
	wait "$agent"
	for bad in key clients; do
		chmod 600 "$dir/agent.key"
		chmod 644 "$dir/clients"
		if [ $bad = key ]; then chmod 640 "$dir/agent.key"; else chmod 666 "$dir/clients"; fi
		rc=0
		timeout 10 "$BUILD/bpfleetd" -c "$dir/conf" --listen "$tcp" --key "$dir/agent.key" \
			--authorized-clients "$dir/clients" 2>"$dir/stderr" || rc=$?
		[ "$rc" != 0 ] && [ "$rc" != 124 ]
		grep -q "$dir/" "$dir/stderr"
	done
}

@test "authorized_clients: the first mistake is told with file:line, and nothing changes" {
	start_tcp
	printf '%s\n' "$pub operator" 'maps="name:x" nokey' >"$dir/clients"
	kill -HUP "$agent"
	within 10 grep -q "$dir/clients:2: " "$log"
	within 10 remote list >/dev/null
}

@test "tcp without a key or without clients is refused" {
	config
	rc=0
	timeout 10 "$BUILD/bpfleetd" -c "$dir/conf" --listen "$tcp" 2>"$dir/stderr" || rc=$?
	[ "$rc" = 2 ]
	grep -q "a key is needed" "$dir/stderr"
	refute timeout 10 "$BUILD/bpfleetd" -c "$dir/conf" --listen tcp://somewhere:1 --key "$dir/k" --authorized-clients "$dir/clients"
}

@test "audit: a file with a line an access, escaped, kept over SIGHUP" {
	make_map hash --fill 3 --pin "$pins/odd"
	config "audit = $dir/audit.log"
	start_tcp
	check 0 remote -j dump id "$id"
	check 3 remote dump pinned "$pins/a\"b"$'\n'"c"
	check 0 "$B" -w "$sock" list
	grep -qE "^time=[0-9T:.-]+Z audit from=127.0.0.1:[0-9]+ key=.{44} comment=\"operator\" op=dump map=$id name=\".*\" entries=3 bytes=[0-9]+ coherence=exact outcome=ok us=[0-9]+$" "$dir/audit.log"
	sed 's/[+]/-/g' "$dir/audit.log" | grep -qF "key=${pub//+/-}"
	grep -qE 'audit from=uid:0 pid=[0-9]+ op=list' "$dir/audit.log"
	grep -qF '\x22b\x0ac' "$dir/audit.log"
	mv "$dir/audit.log" "$dir/audit.1"
	kill -HUP "$agent"
	within 10 remote list >/dev/null
	within 10 grep -q op=list "$dir/audit.log"
	refute grep -q "$(cat "$dir/op.key")" "$dir/audit.log" "$dir/audit.1" "$log"
}

@test "plain requests over tcp get nothing" {
	start_tcp
	python3 - "$port" "$ROOT/proto/vectors/hello-request.hex" <<'PY'
import socket, sys
frame = bytes.fromhex("".join(l for l in open(sys.argv[2]) if not l.startswith("#")))
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(5)
s.sendall(b"\0SP\0\0\x30\0\0")
m = b"\x80\0\0\1" + frame
s.sendall(len(m).to_bytes(8, "big") + m)
got = b""
try:
    while True:
        b = s.recv(4096)
        if not b:
            break
        got += b
except ConnectionResetError:
    pass
assert got in (b"", b"\0SP\0\0\x31\0\0"), got
PY
	check 0 remote list
}

# Strangers: $1 connections that stay, of the kind $2, and $3 that send noise.
flood() {
	python3 - "$port" "$1" "$2" "$3" <<'PY' 3>&- &
import os, resource, socket, sys, threading, time
port, n, kind, noise = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
hello = b"\0SP\0\0\x30\0\0"
def one():
    s = socket.socket()
    s.settimeout(5)
    s.bind(("127.0.0.%d" % (2 + os.getpid() % 200), 0))
    s.connect(("127.0.0.1", port))
    return s
def garbage():
    while True:
        try:
            s = one(); s.sendall(hello + os.urandom(300)); s.recv(100); s.close()
        except OSError:
            pass
        time.sleep(0.05)
for i in range(noise):
    threading.Thread(target=garbage, daemon=True).start()
conns = []
end = time.time() + 25
while time.time() < end:
    while len(conns) < n:
        try:
            s = one()
            if kind != "silent":
                s.sendall(hello)
            if kind == "handshake":
                f = b"bf\1\4" + (32).to_bytes(4, "little") + b"\1" + b"\0" * 15 + os.urandom(32)
                m = b"\x80\0\0\1" + f
                s.sendall(len(m).to_bytes(8, "big") + m)
            s.setblocking(False)
            conns.append(s)
        except OSError:
            time.sleep(0.02)
    for s in conns[:]:
        try:
            while s.recv(4096):
                pass
            conns.remove(s)
        except BlockingIOError:
            pass
        except OSError:
            conns.remove(s)
    time.sleep(0.05)
PY
	started+=($!)
}

@test "2,000 strangers and 50 that send noise: a client is served, memory stays bounded" {
	make_map hash --fill 3
	start_tcp
	for kind in silent hello handshake; do
		flood 2000 "$kind" 50
		flooder=${started[-1]}
		sleep 4
		for k in 1 2 3 4 5; do
			timeout 20 "$B" -w "$tcp" --key "$dir/op.key" --known-agents "$dir/known" \
				lookup id "$id" key 0 0 0 0 >"$dir/stdout" 2>"$dir/stderr" ||
				{ cat "$dir/stderr"; false; }
		done
		rss=0
		for p in "$agent" "$(worker_of "$agent")"; do
			rss=$((rss + $(sed -n 's/^VmRSS:\s*\([0-9]*\).*/\1/p' "/proc/$p/status")))
		done
		echo "$kind: $rss KiB"
		[ "$rss" -lt 65536 ] || [[ $BUILD == *san ]]
		kill "$flooder" && wait "$flooder" || true
	done
}

@test "sources that keep failing are kept out for a while, others are not" {
	config "penalty-failures = 5" "penalty-time = 3"
	authorize "$pub operator"
	start_tcp
	"$B" genkey >"$dir/stranger.key" 2>/dev/null
	chmod 600 "$dir/stranger.key"
	for k in 1 2 3 4 5; do
		check 4 "$B" -w "$tcp" --key "$dir/stranger.key" --known-agents "$dir/known" list
	done
	check 6 "$B" -w "$tcp" --key "$dir/op.key" --known-agents "$dir/known" --connect-timeout 1 --timeout 2 list
	within 10 remote list >/dev/null
}

@test "connections without a proved key end in time" {
	config "handshake-timeout = 1" "idle-timeout = 2"
	start_tcp
	python3 - "$port" <<'PY'
import socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"\0SP\0\0\x30\0\0")
s.settimeout(8)
t = time.time()
while s.recv(100):
    pass
assert time.time() - t < 6, time.time() - t
PY
}

# metric NAME: its value now, as an OpenMetrics parser reads it.
metric() {
	/usr/bin/python3 - "http://127.0.0.1:$mport/metrics" "$1" <<-'EOF'
	import sys, urllib.request
	from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
	want = sys.argv[2]
	with urllib.request.urlopen(sys.argv[1]) as r:
	    assert r.headers["Content-Type"].startswith("application/openmetrics-text")
	    text = r.read().decode()
	for family in parse(text):
	    for s in family.samples:
	        labels = ",".join('%s="%s"' % l for l in sorted(s.labels.items()))
	        if want in (s.name, s.name + "{" + labels + "}"):
	            print(int(s.value))
	EOF
}

@test "metrics: requests, gate and limits on loopback, true after each" {
	mport=$((port + 1))
	make_map hash --fill 10
	config "metrics = 127.0.0.1:$mport" "max-half-open = 7"
	authorize "ops=\"list,show,lookup\" $pub operator"
	start_tcp
	[ "$(metric 'bpfleetd_requests_total{op="list",outcome="ok"}')" = 0 ]
	check 0 remote list
	check 4 remote dump id "$id"
	"$B" genkey >"$dir/other.key" 2>/dev/null
	chmod 600 "$dir/other.key"
	check 4 "$B" -w "$tcp" --key "$dir/other.key" --known-agents "$dir/known" list
	check 0 "$B" -w "$sock" dump id "$id"
	[ "$(metric 'bpfleetd_requests_total{op="list",outcome="ok"}')" -ge 1 ]
	[ "$(metric 'bpfleetd_requests_total{op="dump",outcome="denied"}')" = 1 ]
	[ "$(metric 'bpfleetd_requests_total{op="dump",outcome="ok"}')" = 1 ]
	[ "$(metric 'bpfleetd_entries_total{op="dump"}')" = 10 ]
	[ "$(metric bpfleetd_handshakes_total)" = 2 ]
	[ "$(metric bpfleetd_handshakes_denied_total)" = 1 ]
	[ "$(metric 'bpfleetd_limit{setting="max-half-open"}')" = 7 ]
	refute grep -q "$pub" <(curl -s "http://127.0.0.1:$mport/metrics")
	[ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$mport/")" = 404 ]
	[ "$(curl -s -o /dev/null -w '%{http_code}' -d x "http://127.0.0.1:$mport/metrics")" = 405 ]
	# A new worker takes the port again.
	kill -HUP "$agent"
	within 10 eval '[ "$(grep -c "agent listening" "$log")" -ge 4 ]'
	[ "$(metric 'bpfleetd_requests_total{op="dump",outcome="ok"}')" = 0 ]
}

@test "metrics: a port that is taken, or not on loopback, is named" {
	mport=$((port + 1))
	config "metrics = 127.0.0.1:$mport"
	start_tcp
	check 1 "$BUILD/bpfleetd" --config "$dir/conf" --listen "ipc://$dir/run/other.sock"
	[[ $err == *"metrics 127.0.0.1:$mport"*"in use"* ]]
	for bad in "0.0.0.0:$mport" "[::]:$mport" "10.1.2.3:$mport" localhost:1 127.0.0.1 127.0.0.1:0 127.0.0.1:65536; do
		config "metrics = $bad"
		check 2 "$BUILD/bpfleetd" --config "$dir/conf" --check-config
		one_line "conf:3: metrics: \"$bad\" is not"
	done
}

@test "an error that is not sealed is not believed, nor are its words shown" {
	cat >"$dir/liar.py" <<'PY'
import socket, struct, sys
code = int(sys.argv[2])
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
print("up", flush=True)
while True:
    c = s.accept()[0]
    try:
        c.sendall(b"\0SP\0\0\x31\0\0")
        c.recv(8, socket.MSG_WAITALL)
        while True:
            n = struct.unpack(">Q", c.recv(8, socket.MSG_WAITALL))[0]
            m = c.recv(n, socket.MSG_WAITALL)
            word = b"forged by the wire"
            body = b"\x08" + bytes([code & 0x7f | 0x80, code >> 7]) + b"\x12" + bytes([len(word)]) + word
            f = b"bf\1\3" + struct.pack("<I", len(body)) + m[12:14] + b"\0" * 6 + m[20:28] + body
            c.sendall(struct.pack(">Q", len(f) + 4) + m[:4] + f)
    except (OSError, struct.error):
        pass
PY
	for code in 5003 5004 5010 5001; do
		/usr/bin/python3 "$dir/liar.py" "$port" "$code" >"$dir/up" 3>&- &
		liar=$!
		started+=("$liar")
		within 5 grep -q up "$dir/up"
		echo "$tcp $pub" >"$dir/known"
		rc=0
		remote --connect-timeout 1 --timeout 2 list >"$dir/stdout" 2>"$dir/stderr" || rc=$?
		cat "$dir/stderr"
		[ "$rc" != 0 ] && [ "$rc" != 4 ] && [ ! -s "$dir/stdout" ]
		refute grep -q forged "$dir/stderr"
		[ -s "$dir/stderr" ]
		kill "$liar" && wait "$liar" || true
	done
}
