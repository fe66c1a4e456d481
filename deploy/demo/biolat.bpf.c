// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * biolat - histogram of block I/O latency, device by device
 *
 * From the moment a request is issued to the device until its first
 * completion.  Slot n counts latencies of 2^n to 2^(n+1) - 1 microseconds;
 * slot 0 also holds those below one.  Devices are numbered as inside the
 * kernel: major << 20 | minor.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define LAST_SLOT 31

struct biolat_key {
	__u32 dev;
	__u32 slot;
};

struct biolat_request {
	__u64 sector;
	__u32 dev;
	__u32 pad; /* always 0: the bytes of the key are what is hashed */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct biolat_key);
	__type(value, __u64);
} biolat SEC(".maps");

/* In flight: time of issue, ns.  LRU, so that a lost completion ages out. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct biolat_request);
	__type(value, __u64);
} biolat_start SEC(".maps");

/*
 * The fields that are read; their offsets come from the running kernel's BTF
 * at load time.  The issue event has this layout under this name on every
 * kernel with BTF.  The completion event's struct was renamed in 5.16, but
 * its first three fields have always been these, at the same offsets, so one
 * declaration serves both.
 */
struct trace_event_raw_block_rq {
	__u32 dev;
	__u64 sector;
	unsigned int nr_sector;
} __attribute__((preserve_access_index));

/*
 * Flushes carry no sectors, and all of a device's would share one key: they
 * are left out.
 */
static int
get_request(struct biolat_request *req, struct trace_event_raw_block_rq *ctx)
{
	req->sector = ctx->sector;
	req->dev = ctx->dev;
	req->pad = 0;
	return ctx->nr_sector > 0;
}

static __u32
get_slot(__u64 ns)
{
	__u64 us = ns / 1000;
	__u32 slot;

	for (slot = 0; slot < LAST_SLOT && us > 1; slot++)
		us >>= 1;
	return slot;
}

SEC("tracepoint/block/block_rq_issue")
int
rq_issue(struct trace_event_raw_block_rq *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct biolat_request req;

	if (get_request(&req, ctx))
		bpf_map_update_elem(&biolat_start, &req, &now, BPF_ANY);
	return 0;
}

SEC("tracepoint/block/block_rq_complete")
int
rq_complete(struct trace_event_raw_block_rq *ctx)
{
	const __u64 zero = 0;
	struct biolat_request req;
	struct biolat_key key;
	__u64 *start, *count;

	if (!get_request(&req, ctx))
		return 0;
	start = bpf_map_lookup_elem(&biolat_start, &req);
	if (!start) /* issued before the program was loaded */
		return 0;
	key.dev = req.dev;
	key.slot = get_slot(bpf_ktime_get_ns() - *start);
	bpf_map_delete_elem(&biolat_start, &req);

	count = bpf_map_lookup_elem(&biolat, &key);
	if (!count) {
		/* Another CPU may insert it first: then its entry is used. */
		bpf_map_update_elem(&biolat, &key, &zero, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&biolat, &key);
	}
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
