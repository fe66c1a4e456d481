#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# service.sh: installs bpfleet in a booted system (boot.sh) and takes its unit
# through start, use, reload, crashes, tcp and stop.  Stops at the first fault.
#
# ROOT, BUILD and MKMAP come from /run/test/env.
set -eu # -x here says where it stops
. /run/test/env
cd "$ROOT"

step() {
	echo "ok so far; now: $*"
}

# within SECONDS COMMAND...: until it succeeds.
within() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || { echo "not in time: $*"; return 1; }
		sleep 0.1
	done
}

property() {
	systemctl show -P "$1" bpfleetd
}

main_pid() {
	property MainPID
}

# The worker's or the broker's line of /proc/PID/status.
status_of() {
	sed -n "s/^$2:\s*//p" "/proc/$1/status"
}

worker() {
	pgrep -P "$(main_pid)"
}

logged() {
	grep -qF -- "$1" <(journalctl -u bpfleetd -o cat --no-pager)
}

explain() {
	local rc=$?
	set +e
	[ "$rc" = 0 ] || journalctl --no-pager -o cat -n 60 _TRANSPORT=journal _TRANSPORT=stdout
	exit "$rc"
}
trap explain EXIT

step "install"
san=
dropins=/etc/systemd/system/bpfleetd.service.d
mkdir "$dropins"
if [[ $BUILD == */san ]]; then
	san=SAN=1
	# Nobody may trace the agent, the leak checker neither.
	printf '[Service]\nEnvironment=ASAN_OPTIONS=detect_leaks=0\n' >"$dropins/san.conf"
fi
make $san install PREFIX=/usr LIBDIR=/usr/lib >/dev/null
systemd-sysusers
systemd-tmpfiles --create bpfleet.conf
systemctl daemon-reload
mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
"$MKMAP" --name svc_flows --fill 100 --hold hash >/run/map </dev/null &
within 10 grep -q '^id ' /run/map
id=$(sed -n 's/^id //p' /run/map)

step "start: it is ready when it serves"
systemctl start bpfleetd
[ "$(property SubState)" = running ]
bpfleet list | grep -q svc_flows
[ "$(bpfleet -o jsonl dump id "$id" | wc -l)" = 100 ]

step "who runs, and with what"
[ "$(status_of "$(worker)" Uid | cut -f 1)" = "$(id -u bpfleet)" ]
for set in CapInh CapPrm CapEff CapBnd CapAmb; do
	[ "$(status_of "$(worker)" $set)" = 0000000000000000 ]
done
[ "$(status_of "$(worker)" Seccomp)" = 2 ]
# The unit gives what the broker keeps, no more and no less.
[ "$(status_of "$(main_pid)" CapBnd)" = "$(status_of "$(main_pid)" CapEff)" ]
given=$(bpfleetd --check-config | sed -n 's/^; *\(cap_[a-z_]*\) *to .*/\1/p' | sort)
[ "$(property CapabilityBoundingSet | tr ' ' '\n' | sort)" = "$given" ]

step "the log"
within 5 logged 'op=dump'

step "reload: a new worker, the same broker"
main=$(main_pid) old=$(worker)
systemctl reload bpfleetd
within 10 eval '[ -n "$(worker)" ] && [ "$(worker)" != '"$old"' ]'
within 5 bpfleet list
[ "$(main_pid)" = "$main" ]

step "a worker that is killed"
old=$(worker)
kill -9 "$old"
within 10 eval '[ -n "$(worker)" ] && [ "$(worker)" != '"$old"' ]'
within 5 bpfleet list
[ "$(main_pid)" = "$main" ]

step "a broker that is killed"
kill -9 "$main"
within 15 eval '[ "$(main_pid)" != '"$main"' ] && [ "$(property SubState)" = running ]'
within 5 bpfleet list

step "over tcp, with the key by LoadCredential"
(umask 077; bpfleet genkey >/etc/bpfleet/agent.key; bpfleet genkey >/run/op.key)
echo "$(bpfleet pubkey </run/op.key) operator" >/etc/bpfleet/authorized_clients
echo "tcp://127.0.0.1:7117 $(bpfleet pubkey </etc/bpfleet/agent.key)" >/run/known
cat >>/etc/bpfleet/agent.conf <<-END
	listen = tcp://127.0.0.1:7117
	authorized-clients = /etc/bpfleet/authorized_clients
	audit = /var/log/bpfleet/audit.log
	metrics = 127.0.0.1:7118
END
install -m 644 /usr/share/doc/bpfleet/examples/tcp.conf "$dropins"
systemctl daemon-reload
systemctl restart bpfleetd
bpfleet -w tcp://127.0.0.1:7117 --key /run/op.key --known-agents /run/known \
	-o jsonl dump id "$id" >/run/dumped
[ "$(wc -l </run/dumped)" = 100 ]
grep -q 'comment="operator" op=dump' /var/log/bpfleet/audit.log
curl -sf http://127.0.0.1:7118/metrics | grep -q '^bpfleetd_requests_total{op="dump",outcome="ok"} 1$'
[ "$(bpfleet list | grep -c svc_flows)" = 1 ]

step "settings that are wrong do not end it"
echo 'nonsense = 1' >>/etc/bpfleet/agent.conf
systemctl reload bpfleetd
within 5 logged 'nonsense'
within 5 bpfleet list
sed -i '$d' /etc/bpfleet/agent.conf

step "stop"
systemctl stop bpfleetd
[ "$(property Result)" = success ]
[ ! -e /run/bpfleet/agent.sock ]
[ "$(stat -c %a:%U /var/lib/bpfleet/agent.secret)" = 600:root ]
echo "ok all"
