#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# layers.sh [DIR]: fails, as TAP, when a file includes from a layer below its
# own (tests/layers.txt), when server/ and client/ include each other, or when
# a file has no layer.  With --self-test it proves on a copy that it can fail.
set -u
here=$(cd "$(dirname "$0")" && pwd)

# Prints a line for every include that breaks the order.
check() {
	cd "$1" || return
	awk '
	FNR == NR {
		if ($0 ~ /^#/ || !NF) next
		n++
		for (i = 2; i <= NF; i++) layer[$1 $i] = n
		next
	}
	function of(path,  stem, dir) {
		stem = path; sub(/\.[ch]$/, "", stem)
		if (stem in layer) return layer[stem]
		dir = path; sub(/[^\/]*$/, "", dir)
		return (dir "*") in layer ? layer[dir "*"] : 0
	}
	FNR == 1 { if (!of(FILENAME)) print FILENAME ": has no layer" }
	/^#include ["<]((common|server|client)\/|bpfleet\/)/ {
		inc = $2; gsub(/["<>]/, "", inc)
		if (inc ~ /^bpfleet\//) inc = "client/include/" inc
		mine = of(FILENAME); other = of(inc)
		if (!other) print FILENAME ": " inc " has no layer"
		else if (other > mine) print FILENAME ": includes " inc " from below"
		else if ((FILENAME ~ /^server/ && inc ~ /^client/) ||
			 (FILENAME ~ /^client/ && inc ~ /^server/))
			print FILENAME ": includes " inc " across"
	}' "$here/layers.txt" $(find common server client/lib client/cli client/include -name '*.[ch]' | sort)
}

wrong=$(check "$here/..")
[ -z "$wrong" ] && echo "ok 1 layers hold" || { echo "not ok 1 layers hold"; echo "$wrong"; }

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/client/lib" "$copy/client/cli" "$copy/client/include"
cp -r "$here/../common" "$here/../server" "$copy/"
echo '#include "server/map.h"' >>"$copy/common/err.c"
echo '#include "client/lib/session.h"' >>"$copy/server/map.c"
n=$(check "$copy" | grep -cE '^(common/err.c|server/map.c):')
[ "$n" = 2 ] && echo "ok 2 a wrong include is found" || echo "not ok 2 a wrong include is found ($n)"
