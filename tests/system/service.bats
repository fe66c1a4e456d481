#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# service.bats: what is installed: files in their places, settings that are
# the defaults, and the unit, read by systemd's tools and run by a real systemd.

load helpers

setup() {
	setup_world
	make_args=(-s -C "$ROOT" install)
	[[ $BUILD != */san ]] || make_args+=(SAN=1)
}

teardown() {
	teardown_world
}

@test "the example of the settings: valid, each line the default" {
	printf '[agent]\n' >"$dir/empty"
	check 0 "$BUILD/bpfleetd" --config "$dir/empty" --check-config
	default=$out
	check 0 "$BUILD/bpfleetd" --config "$ROOT/deploy/agent.conf" --check-config
	[ "$out" = "$default" ]
	# What is commented out is valid as well.
	(umask 077; "$B" genkey >"$dir/key")
	sed -E -e 's/^;([a-z-]+ =)/\1/; s/prometheus|adm/root/; /^make-key|^audit = log/d' \
		-e "s|/etc/bpfleet|$dir|" "$ROOT/deploy/agent.conf" >"$dir/all"
	cp "$dir/key" "$dir/agent.key"
	touch "$dir/authorized_clients"
	check 0 "$BUILD/bpfleetd" --config "$dir/all" --check-config
	[[ $out == *"listen = tcp://0.0.0.0:7117"*"metrics = 127.0.0.1:7118"*"maps = id:17"* ]]
	# Every setting of the manual is in it.
	diff <(sed -n '/^# SETTINGS/,/^# CAP/p' "$ROOT/deploy/man/bpfleetd.8.scd" | grep '^\*' | grep -oE '\*[a-z-]+\* =' | tr -d ' =' | tr -d '*' | sort -u) \
		<(grep -oE '^;?[a-z-]+ =' "$ROOT/deploy/agent.conf" | tr -d '; =' | sort -u)
}

@test "make install: DESTDIR and PREFIX, settings that are there stay" {
	make "${make_args[@]}" DESTDIR="$dir/root" PREFIX=/opt/b >/dev/null
	[ "$(stat -c %a "$dir/root/opt/b/lib/systemd/system/bpfleetd.service")" = 644 ]
	grep -q '^ExecStart=/opt/b/sbin/bpfleetd$' "$dir/root/opt/b/lib/systemd/system/bpfleetd.service"
	refute grep -rqE '@[A-Z]+@' "$dir/root/opt/b/lib" "$dir/root/opt/b/share/doc/bpfleet/examples"
	for page in bpfleet.1 bpfleet-authorized-clients.5 bpfleet-known-agents.5 bpfleetd.8; do
		man -l "$dir/root/opt/b/share/man/man${page##*.}/$page" >/dev/null
	done
	"$dir/root/opt/b/sbin/bpfleetd" --version
	echo "; mine" >>"$dir/root/etc/bpfleet/agent.conf"
	make "${make_args[@]}" DESTDIR="$dir/root" PREFIX=/opt/b >/dev/null
	grep -q '^; mine' "$dir/root/etc/bpfleet/agent.conf"
	# A program is built against what was installed.
	make "${make_args[@]}" DESTDIR= PREFIX="$dir/local" SYSCONFDIR="$dir/etc" >/dev/null
	export PKG_CONFIG_PATH=$dir/local/lib/pkgconfig
	flags=()
	[[ $BUILD != */san ]] || flags=(-fsanitize=address,undefined)
	# shellcheck disable=SC2046 # words
	gcc -std=c99 "${flags[@]}" -o "$dir/prog" "$dir/local/share/doc/bpfleet/examples/dump.c" \
		$(pkg-config --cflags --libs libbpfleet) -Wl,-rpath,"$dir/local/lib"
	rc=0
	"$dir/prog" >"$dir/stdout" 2>"$dir/stderr" || rc=$?
	[ "$rc" = 2 ]
}

@test "the unit: valid, and exposed as little as an agent can be" {
	make "${make_args[@]}" DESTDIR= PREFIX="$dir/usr" SYSCONFDIR="$dir/etc" >/dev/null
	unit=$dir/usr/lib/systemd/system/bpfleetd.service
	check 0 systemd-analyze verify --man=no "$unit"
	[ -z "$err" ] || { echo "$err"; false; }
	check 0 systemd-analyze security --offline=yes --threshold=32 --no-pager "$unit"
}

@test "the user and the directories" {
	mkdir -p "$dir/r/etc" "$dir/r/usr/lib/tmpfiles.d"
	check 0 systemd-sysusers --root="$dir/r" "$ROOT/deploy/systemd/sysusers.conf"
	grep -q '^bpfleet:x:[0-9]*:[0-9]*:bpfleet agent worker:/:/usr/sbin/nologin$' "$dir/r/etc/passwd"
	cp "$ROOT/deploy/systemd/tmpfiles.conf" "$dir/r/usr/lib/tmpfiles.d/"
	check 0 systemd-tmpfiles --root="$dir/r" --create tmpfiles.conf
	gid=$(sed -n 's/^bpfleet:x:\([0-9]*\):.*/\1/p' "$dir/r/etc/group")
	[ "$(stat -c %a:%u:%g "$dir/r/run/bpfleet")" = "775:0:$gid" ]
	[ "$(stat -c %a:%u:%g "$dir/r/var/lib/bpfleet")" = 700:0:0 ]
}

@test "under a real systemd: start, use, reload, crashes, tcp, stop" {
	printf '%s=%q\n' ROOT "$ROOT" BUILD "$BUILD" MKMAP "$MKMAP" >"$dir/env"
	rc=0
	timeout 200 "$ROOT/tests/tools/boot.sh" "$dir" "$ROOT/tests/tools/service.sh" 3>&- || rc=$?
	[ "$rc" != 77 ] || skip "no systemd in namespaces here: $(tail -n 1 "$dir/console")"
	[ "$rc" = 0 ] || { cat "$dir/console" "$dir/out"; false; }
	[ "$(tail -n 1 "$dir/out")" = "ok all" ]
}
