// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * syscalls - how often each system call was entered, per CPU
 *
 * One slot per CPU and call number, so nothing is shared between CPUs and
 * the reader adds the slots up.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} syscalls SEC(".maps");

/*
 * The one field that is read.  Its offset is taken from the running
 * kernel's BTF at load time: the common fields before it are longer on some
 * kernels (PREEMPT_RT before 5.15).
 */
struct trace_event_raw_sys_enter {
	long id;
} __attribute__((preserve_access_index));

SEC("tracepoint/raw_syscalls/sys_enter")
int
count_syscall(struct trace_event_raw_sys_enter *ctx)
{
	const __u64 zero = 0;
	long id = ctx->id;
	__u32 key = (__u32)id;
	__u64 *count;

	if (id < 0) /* a tracer or seccomp told the kernel to skip the call */
		return 0;
	count = bpf_map_lookup_elem(&syscalls, &key);
	if (!count) {
		/* Another CPU may insert it first: then its entry is used. */
		bpf_map_update_elem(&syscalls, &key, &zero, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&syscalls, &key);
	}
	if (count)
		(*count)++;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
