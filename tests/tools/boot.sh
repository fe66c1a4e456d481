#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# boot.sh DIR SCRIPT: runs a script under a real systemd, in namespaces of its
# own and over a copy of this system's files that is thrown away.
#
# DIR/out gets what the script prints, DIR/console what systemd says, DIR is
# /run/test there.  Exit status: the script's; 77 if systemd does not come up.
set -eu

# Inside the namespaces: build the root directory, become systemd.
if [ "${1:-}" = --inside ]; then
	dir=$2 script=$3 root=$2/top/root
	mount --make-rprivate /
	mount -t tmpfs tmpfs "$dir/top"
	mkdir "$dir"/top/{upper,work,root}
	mount -t overlay -o "lowerdir=/,upperdir=$dir/top/upper,workdir=$dir/top/work" \
		overlay "$root"
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount -t tmpfs tmpfs "$root/run"
	mount -t tmpfs tmpfs "$root/tmp"
	mount -t tmpfs -o mode=755 tmpfs "$root/dev"
	cp -a /dev/{null,zero,full,random,urandom,tty} "$root/dev"
	mkdir "$root"/dev/{pts,shm,mqueue}
	mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
	ln -s pts/ptmx "$root/dev/ptmx"
	if [ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ]; then
		mount -t cgroup2 cgroup "$root/sys/fs/cgroup"
	else
		mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
		mkdir "$root"/sys/fs/cgroup/{unified,systemd}
		mount -t cgroup2 cgroup "$root/sys/fs/cgroup/unified"
		mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
	fi
	mkdir "$root/run/test"
	mount --bind "$dir" "$root/run/test"
	# Nothing that would set up the machine itself.
	rm -rf "$root"/etc/systemd/system/*.wants
	for unit in sysctl modules-load udevd udev-trigger update-utmp remount-fs; do
		ln -sf /dev/null "$root/etc/systemd/system/systemd-$unit.service"
	done
	cat >"$root/etc/systemd/system/script.service" <<-END
		[Unit]
		SuccessAction=exit
		FailureAction=exit
		[Service]
		Type=oneshot
		ExecStart=/bin/bash -c 'touch /run/test/up; exec $script'
		StandardOutput=file:/run/test/out
		StandardError=inherit
		TimeoutStartSec=120
	END
	ip link set lo up
	cd "$root"
	mkdir -p old
	pivot_root . old
	umount -l /old
	mount --make-rshared /
	exec env -i container=test "PATH=$PATH" /lib/systemd/systemd --system \
		--unit=script.service --log-target=journal --show-status=no
fi

dir=$(realpath "$1") script=$2
group=bpfleet-boot-$$
groups=()
for g in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
	[ -e "$g/cgroup.procs" ] && mkdir "$g/$group" 2>/dev/null && groups+=("$g/$group")
done
cleanup() {
	local g
	for g in "${groups[@]}"; do
		find "$g" -depth -type d -exec rmdir {} + 2>/dev/null || true
	done
}
trap cleanup EXIT
mkdir -p "$dir/top"
rc=0
(
	for g in "${groups[@]}"; do
		echo "$BASHPID" >"$g/cgroup.procs"
	done
	exec timeout -k 5 150 unshare --mount --pid --ipc --uts --net --cgroup \
		--fork --kill-child=KILL "$0" --inside "$dir" "$script"
) >"$dir/console" 2>&1 </dev/null || rc=$?
[ -e "$dir/up" ] || exit 77
exit "$rc"
