#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# install-deps.sh: installs the Debian packages that building, testing and the
# demo need, if any is missing.  Says nothing when all are there.
set -eu

packages="build-essential clang llvm libclang-rt-14-dev pkg-config
	libbpf-dev libelf-dev zlib1g-dev bpftool
	libprotobuf-c-dev protobuf-c-compiler protobuf-compiler
	libnng-dev libsodium-dev libinih-dev libseccomp-dev libmicrohttpd-dev
	libcmocka-dev bats jq iproute2 iputils-ping procps python3
	python3-prometheus-client curl systemd
	clang-format clang-tidy cppcheck scdoc man-db"

missing=
for p in $packages; do
	dpkg-query -W -f='${Status}' "$p" 2>/dev/null |
		grep -q '^install ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
	echo "missing packages (install them as root):$missing" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q || echo "package lists could not be renewed" >&2
# shellcheck disable=SC2086 # a list of words
apt-get install -q -y --no-install-recommends $missing
