#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
#
# traffic - real packets and real block I/O for the demo's programs to count
#
# Two network namespaces with a veth pair between them; the host's own
# network is not touched.  XDP belongs on the server's end:
#   nsenter --net=/run/netns/bpfleet-demo-b bpfdemo load --ifname bpfleet-demo1
# (not "ip netns exec", which hides /sys/fs/bpf).  Needs bash and iproute2;
# ping and perl are used if there.
set -euo pipefail

client_ns=bpfleet-demo-a
client_if=bpfleet-demo0
client_addr=10.77.0.1
server_ns=bpfleet-demo-b
server_if=bpfleet-demo1
server_addr=10.77.0.2
sink_net=10.77.0.128/25 # the server drops what comes for it, without a word
sink_prefix=10.77.0.
port=7070
io_dir=${BPFLEET_DEMO_IO_DIR:-/var/tmp} # must be on a disk, not tmpfs

io_file=
server_pid=

say()
{
	echo "traffic: $*" >&2
}

usage()
{
	echo "usage: traffic.sh setup | run [ROUNDS] | cleanup" >&2
	exit 2
}

in_client()
{
	nsenter --net="/run/netns/$client_ns" "$@"
}

is_up()
{
	{ ip -n "$client_ns" -o link show dev "$client_if" up |
		grep -q LOWER_UP &&
		ip -n "$server_ns" -o route show "$sink_net" |
		grep -q blackhole; } 2>/dev/null
}

# A process still inside would keep its namespace alive, out of sight.
remove_namespace()
{
	local pids

	[ -e "/run/netns/$1" ] || return 0
	pids=$(ip netns pids "$1" 2>/dev/null || true)
	# shellcheck disable=SC2086 # one word a process
	[ -z "$pids" ] || kill $pids 2>/dev/null || true
	ip netns del "$1"
}

cleanup()
{
	remove_namespace "$client_ns"
	remove_namespace "$server_ns"
	rm -f "$io_dir"/bpfleet-demo.??????
}

setup()
{
	if is_up; then
		say "already set up"
		return
	fi
	cleanup
	trap cleanup EXIT
	ip netns add "$client_ns"
	ip netns add "$server_ns"
	ip -n "$client_ns" link add "$client_if" type veth \
		peer name "$server_if" netns "$server_ns"
	ip -n "$client_ns" addr add "$client_addr/25" dev "$client_if"
	ip -n "$server_ns" addr add "$server_addr/25" dev "$server_if"
	ip -n "$server_ns" link set lo up
	ip -n "$server_ns" link set "$server_if" up
	ip -n "$client_ns" link set "$client_if" up
	ip -n "$client_ns" route add "$sink_net" via "$server_addr"
	ip -n "$server_ns" route add blackhole "$sink_net"
	trap - EXIT
	say "$client_if in $client_ns, $server_if in $server_ns"
}

stop_run()
{
	[ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null || true
	[ -z "$io_file" ] || rm -f "$io_file"
}

# Reads and forgets; without it a connection is one SYN and its RST.
start_server()
{
	if ! command -v perl >/dev/null; then
		say "no perl: TCP connections will be refused"
		return
	fi
	# shellcheck disable=SC2016 # the variables are perl's
	nsenter --net="/run/netns/$server_ns" perl -MIO::Socket::INET -e '
		my $s = IO::Socket::INET->new(Listen => 16, ReuseAddr => 1,
			LocalPort => shift) or die "listen: $!\n";
		while (my $c = $s->accept) { 1 while sysread $c, my $b, 65536 }
	' "$port" &
	server_pid=$!
	for _ in {1..50}; do
		ss -N "$server_ns" -Hltn "sport = $port" | grep -q . && return
		sleep 0.1
	done
	say "the TCP server did not start"
	return 1
}

send_ping()
{
	if command -v ping >/dev/null; then
		in_client ping -q -c 5 -i 0.2 "$server_addr" >/dev/null
	elif [ "$1" -eq 1 ]; then
		say "no ping: no ICMP echo is sent"
	fi
}

# UDP to four hosts behind the server: 1 + 2 + 4 + 8 datagrams.
send_udp()
{
	# shellcheck disable=SC2016 # expanded by the inner shell
	in_client bash -c '
		printf -v payload "%0400d" 0
		for host in 0 1 2 3; do
			exec 3>"/dev/udp/$0$((200 + host))/$((5000 + host))"
			for ((i = 0; i < 1 << host; i++)); do
				printf %s "$payload" >&3
			done
			exec 3>&-
		done' "$sink_prefix"
}

# Three connections of 4, 8 and 12 KB; a refused one has sent its SYN.
send_tcp()
{
	# shellcheck disable=SC2016 # expanded by the inner shell
	in_client bash -c '
		for blocks in 1 2 3; do
			{ printf "%0$((blocks * 4096))d" 0 \
				>"/dev/tcp/$0/$1"; } 2>/dev/null || true
		done' "$server_addr" "$port"
}

# 64 single blocks and 4 large ones, written and read past the page cache.
do_io()
{
	local dd=(dd status=none if=/dev/zero "of=$io_file")

	dd+=("conv=notrunc,fsync")
	if ! "${dd[@]}" bs=4k count=64 oflag=direct 2>/dev/null; then
		say "$io_dir has no O_DIRECT: writing with fsync only"
		"${dd[@]}" bs=4k count=64
		return
	fi
	"${dd[@]}" bs=1M count=4 oflag=direct
	dd status=none "if=$io_file" of=/dev/null bs=4k count=64 iflag=direct
}

run()
{
	local rounds=$1 i

	if ! is_up; then
		say "not set up: run \"traffic.sh setup\" first"
		return 1
	fi
	trap stop_run EXIT
	io_file=$(mktemp "$io_dir/bpfleet-demo.XXXXXX")
	start_server
	for ((i = 1; i <= rounds; i++)); do
		send_ping "$i"
		send_udp
		send_tcp
		do_io
	done
	say "$rounds rounds of packets and I/O on $io_dir"
}

case "${1-}" in
setup | cleanup)
	[ $# -eq 1 ] || usage
	"$1"
	;;
run)
	[[ $# -le 2 && ${2-3} =~ ^[1-9][0-9]{0,5}$ ]] || usage
	run "${2-3}"
	;;
*)
	usage
	;;
esac
