// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flows - packets and bytes per IPv4 5-tuple, counted on the way in (XDP)
 *
 * Every frame passes on untouched.  Bytes are those of the whole frame.
 * What has no ports (ICMP, later fragments) is counted with ports 0;
 * whatever is not IPv4 is not counted.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/types.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define IP_OFFSET_MASK 0x1fff

struct flow_key {
	__be32 saddr;
	__be32 daddr;
	__be16 sport;
	__be16 dport;
	__u8 proto;
	__u8 pad[3]; /* always 0: the bytes of the key are what is hashed */
};

struct flow_value {
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct flow_key);
	__type(value, struct flow_value);
} flows SEC(".maps");

/* The first four bytes of both TCP and UDP. */
struct ports {
	__be16 source;
	__be16 dest;
};

static void
parse_ports(struct flow_key *key, const struct iphdr *ip, const void *end)
{
	const struct ports *ports = (const void *)ip + ip->ihl * 4;

	if (ip->protocol != IPPROTO_TCP && ip->protocol != IPPROTO_UDP)
		return;
	if (ip->frag_off & bpf_htons(IP_OFFSET_MASK))
		return;
	if (ip->ihl < 5 || (const void *)(ports + 1) > end)
		return;
	key->sport = ports->source;
	key->dport = ports->dest;
}

SEC("xdp")
int
count_flow(struct xdp_md *ctx)
{
	const void *data = (const void *)(long)ctx->data;
	const void *end = (const void *)(long)ctx->data_end;
	const struct flow_value zero = {0};
	struct flow_key key = {0};
	const struct ethhdr *eth = data;
	const struct iphdr *ip = (const void *)(eth + 1);
	struct flow_value *value;

	if ((const void *)(ip + 1) > end)
		return XDP_PASS;
	if (eth->h_proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	key.saddr = ip->saddr;
	key.daddr = ip->daddr;
	key.proto = ip->protocol;
	parse_ports(&key, ip, end);

	value = bpf_map_lookup_elem(&flows, &key);
	if (!value) {
		/* Another CPU may insert it first: then its entry is used. */
		bpf_map_update_elem(&flows, &key, &zero, BPF_NOEXIST);
		value = bpf_map_lookup_elem(&flows, &key);
	}
	if (value) { /* NULL: the map is full, the flow is not counted */
		__sync_fetch_and_add(&value->packets, 1);
		__sync_fetch_and_add(&value->bytes, (__u64)(end - data));
	}
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
