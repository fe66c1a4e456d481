/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * libbpfleet - read eBPF maps through a bpfleet agent
 *
 * A session (struct bpfleet) talks to one agent.  Maps are found by id, name
 * or pin; a dump is a loop over pages of entries in columns; lookups take
 * many keys at once.
 *
 *	struct bpfleet *b = NULL;
 *	struct bpfleet_dump *d = NULL;
 *	struct bpfleet_map_ref ref = {sizeof(ref), 42, NULL};
 *	const struct bpfleet_page *page;
 *	struct bpfleet_error err;
 *
 *	if (bpfleet_open(&b, NULL, NULL, &err) ||
 *	    bpfleet_dump_open(&d, b, &ref, NULL, &err))
 *		...
 *	while ((ret = bpfleet_dump_next(d, &page, &err)) > 0)
 *		for (i = 0; i < page->n; i++)
 *			use(page->keys + i * page->key_size, ...);
 *
 * Conventions
 *  - Functions return 0, or a negative code: -errno, or one of enum
 *    bpfleet_code.  Iterators return 1 (more), 0 (done), < 0 (error).
 *  - The last parameter is an optional error, filled only on failure.
 *  - Option structs begin with their own size, so that they can grow: set sz
 *    to sizeof and the rest to zero for the defaults.  NULL is all defaults.
 *  - What a function gives through `**out` is the caller's to free; what a
 *    struct points to is borrowed from it.
 *  - Threads: a session may be used by several threads at once; a dump or a
 *    result by one at a time.  fork(2): not across it.
 *  - Bytes of keys and values are as the kernel gives them, in the byte order
 *    of the agent's host.
 *  - Nothing is printed, no signal handler is set, no environment is read.
 */
#ifndef BPFLEET_BPFLEET_H
#define BPFLEET_BPFLEET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BPFLEET_API __attribute__((visibility("default")))

/* Where an agent listens unless told otherwise. */
#define BPFLEET_DEFAULT_ADDRESS "ipc:///run/bpfleet/agent.sock"

/* Codes beyond errno; a call returns them negated. */
enum bpfleet_code {
	BPFLEET_EPROTO = 5000,	     /* the answer was no valid message */
	BPFLEET_EVERSION = 5001,     /* no common protocol version */
	BPFLEET_EOPERATION = 5002,   /* the agent does not know the operation */
	BPFLEET_EDENIED = 5003,	     /* the agent does not allow it */
	BPFLEET_ENOMAP = 5004,	     /* no such map */
	BPFLEET_EGONE = 5005,	     /* the map was freed meanwhile */
	BPFLEET_EREPLACED = 5006,    /* another map stands at the pin now */
	BPFLEET_ECURSOR = 5007,	     /* the cursor is not for this dump */
	BPFLEET_EUNREADABLE = 5008,  /* this type cannot be read that way */
	BPFLEET_ETOOBIG = 5009,	     /* an entry or reply above the limit */
	BPFLEET_EBUSY = 5010,	     /* the agent is over its budget */
	BPFLEET_EARGUMENT = 5011,    /* a wrong argument */
	BPFLEET_EKERNEL = 5012,	     /* bpf(2) failed on the agent's host */
	BPFLEET_EUNREACHABLE = 5013, /* no agent at the address */
	BPFLEET_ETIMEOUT = 5014,     /* no answer in time */
	BPFLEET_ENOKEY = 5015,	     /* no such key; queue or stack empty */
	BPFLEET_EPERMISSION = 5016,  /* the agent lacks a capability */
	BPFLEET_EINTERNAL = 5017,    /* a bug in bpfleet */
	BPFLEET_EHOSTKEY = 5019	     /* the agent's key is not known, or not
				      * the one that is
				      */
};

/* What went wrong, for programs (code) and for people (message). */
struct bpfleet_error {
	int code;	   /* positive: errno or enum bpfleet_code */
	char host[256];	   /* the address it was about, "" if none */
	char message[512]; /* one line: what, on what, why, what to do */
};

/*
 * bpfleet_strerror - words for a code, negative or positive
 *
 * Returns: a static string, never NULL
 */
BPFLEET_API const char *bpfleet_strerror(int code);

/* The library's version, such as "0.1.0"; static. */
BPFLEET_API const char *bpfleet_version(void);

/* ------------------------------------------------------------- sessions */

struct bpfleet;

/* Use the agent that listens; where none does and the caller is root, start
 * one for this session, which ends with it.
 */
#define BPFLEET_PRIVATE_AGENT 1u

struct bpfleet_open_opts {
	size_t sz;
	uint32_t flags;		     /* BPFLEET_PRIVATE_AGENT or 0 */
	uint32_t connect_timeout_ms; /* 0: 5000 */
	uint32_t timeout_ms;	     /* for one answer; 0: 30000 */
	const char *agent_path;	     /* of bpfleetd, for a private agent;
				      * NULL: beside the program, then PATH
				      */
	/* For tcp://; key_file and known_agents are both needed there. */
	const char *key_file;	  /* the client's private key, mode 0600 */
	const char *known_agents; /* which key each agent must have */
	int trust_new;		  /* 1: an agent without a line is believed,
				   * and its key added to known_agents
				   */
};

/*
 * bpfleet_open - connect to an agent and agree on a protocol version
 *
 * In:      address: "ipc:///PATH", "tcp://HOST:PORT", or NULL for
 *          BPFLEET_DEFAULT_ADDRESS
 * Returns: 0; -BPFLEET_EUNREACHABLE; -BPFLEET_EDENIED; -BPFLEET_EVERSION;
 *          -BPFLEET_EARGUMENT for an address that is none; over tcp also
 *          -BPFLEET_EHOSTKEY, and what is wrong with a file; other codes
 * Owns:    bpfleet_close() the session
 */
BPFLEET_API int bpfleet_open(struct bpfleet **out, const char *address,
			     const struct bpfleet_open_opts *opts,
			     struct bpfleet_error *err);

/* Ends a session; NULL is fine.  Close its dumps before. */
BPFLEET_API void bpfleet_close(struct bpfleet *b);

/* The agent and its host, as told when the session was opened. */
struct bpfleet_host {
	const char *name;	/* host name, as the host calls itself */
	const char *address;	/* as given to bpfleet_open() */
	const char *agent;	/* "bpfleetd 0.1.0" */
	const char *kernel;	/* "6.18.44 x86_64" */
	const char *limits;	/* what the agent cannot do; "" if nothing */
	uint8_t boot_id[16];
	uint32_t n_possible_cpus;
	uint32_t protocol;	/* version in use */
	uint64_t latency_ns;	/* of the first exchange */
	int private_agent;	/* 1: started for this session */
};

/* Borrowed from the session, unchanged during its life. */
BPFLEET_API const struct bpfleet_host *bpfleet_host_get(const struct bpfleet *b);

/* ----------------------------------------------------------------- maps */

/* Names a map: by id, by pin (a path on the agent's host), or by both: then
 * the pin must still lead to that id, else -BPFLEET_EREPLACED.
 */
struct bpfleet_map_ref {
	size_t sz;
	uint32_t id;	 /* 0: by pin */
	const char *pin; /* NULL: by id */
};

/* A way of reading that a map can or cannot use. */
struct bpfleet_engine {
	const char *name; /* "batch", "walk" */
	int usable;
	const char *why; /* one phrase */
};

struct bpfleet_map {
	uint32_t id;
	uint32_t type;	       /* enum bpf_map_type of <linux/bpf.h> */
	const char *type_name; /* "hash"; "type 77" if unknown here */
	const char *name;      /* at most 15 bytes; "" if it has none */
	uint32_t key_size, value_size, max_entries; /* bytes, bytes, count */
	uint32_t flags;	       /* BPF_F_* of its creation */
	uint32_t btf_id;       /* 0: no types */
	uint32_t btf_key_type_id, btf_value_type_id;
	uint32_t btf_vmlinux_value_type_id;
	uint32_t ifindex;      /* of the device it is offloaded to, or 0 */
	uint64_t netns_dev, netns_ino;
	uint64_t map_extra;
	int frozen;
	int has_memlock;
	uint64_t memlock_bytes; /* memory the kernel charges for it */
	int has_owner;		/* prog_array: of the type below */
	uint32_t owner_prog_type;
	int owner_jited;
	uint32_t n_slots;	/* values per key: possible CPUs, or 1 */
	uint32_t slot_size;	/* bytes from one value to the next */
	const char *const *pins;
	size_t n_pins;		/* paths, if pins were asked for */
	const char *unreadable; /* why a dump is refused; "" if it is not */
	int error;		/* code: why other members are missing; 0 */
	const struct bpfleet_engine *engines; /* by bpfleet_map_show() */
	size_t n_engines;
};

/* A list of maps, by ascending id. */
struct bpfleet_maps;

struct bpfleet_list_opts {
	size_t sz;
	const char *name_glob; /* only names that match (*, ?, [); NULL: all */
	int pins;	       /* 1: find pins too; slower on many pins */
};

/*
 * bpfleet_maps_list - all maps the agent lets the caller see
 *
 * A map that vanishes meanwhile is left out; one that cannot be described is
 * listed with its error.
 * Returns: 0, also for an empty list; -BPFLEET_EPERMISSION if the agent's
 *          host does not let it list at all
 * Owns:    bpfleet_maps_free() the list
 */
BPFLEET_API int bpfleet_maps_list(struct bpfleet_maps **out, struct bpfleet *b,
				  const struct bpfleet_list_opts *opts,
				  struct bpfleet_error *err);

/*
 * bpfleet_maps_find - the maps that a selector means
 *
 * In:      "id:N", "name:GLOB", "pin:PATH", or a bare word: a name.  Names
 *          compare at 15 bytes, as the kernel keeps no more.
 * Returns: 0 with one map or more; -BPFLEET_ENOMAP with the nearest name in
 *          the message; -BPFLEET_EARGUMENT for a malformed selector
 * Owns:    bpfleet_maps_free() the list
 */
BPFLEET_API int bpfleet_maps_find(struct bpfleet_maps **out, struct bpfleet *b,
				  const char *selector,
				  struct bpfleet_error *err);

/*
 * bpfleet_map_show - one map, with its pins and the engines that can read it
 *
 * Returns: 0; -BPFLEET_ENOMAP; -BPFLEET_EREPLACED; -BPFLEET_EDENIED
 * Owns:    bpfleet_maps_free() the list of one
 */
BPFLEET_API int bpfleet_map_show(struct bpfleet_maps **out, struct bpfleet *b,
				 const struct bpfleet_map_ref *map,
				 struct bpfleet_error *err);

BPFLEET_API size_t bpfleet_maps_count(const struct bpfleet_maps *maps);
/* Borrowed from the list; NULL beyond its end. */
BPFLEET_API const struct bpfleet_map *
bpfleet_maps_get(const struct bpfleet_maps *maps, size_t i);
/* Why some maps could not be seen ("" if all were); borrowed. */
BPFLEET_API const char *bpfleet_maps_limits(const struct bpfleet_maps *maps);
BPFLEET_API void bpfleet_maps_free(struct bpfleet_maps *maps);

/* ---------------------------------------------------------------- dumps */

/* How far what was read can be believed, best first. */
enum bpfleet_coherence {
	BPFLEET_EXACT = 1, /* a key that stays in the map for the whole dump
			    * is there exactly once
			    */
	BPFLEET_FAST = 2,  /* read without locks: under heavy replacement a
			    * key may be missed, repeated, or carry another
			    * key's value
			    */
	BPFLEET_MAY_REPEAT = 3, /* walked by key: if entries are deleted
				 * meanwhile, keys may repeat or carry another
				 * key's value
				 */
	BPFLEET_INCOMPLETE = 4	/* a bound was met before the end */
};

/* "exact", "fast", "may-repeat", "incomplete"; static, never NULL. */
BPFLEET_API const char *bpfleet_coherence_str(int coherence);

/* A page of entries, in columns. */
struct bpfleet_page {
	uint32_t map_id;
	uint32_t n;	      /* entries; 0 is possible before the end */
	uint32_t key_size;    /* bytes */
	uint32_t value_size;  /* bytes of a value that carry data */
	uint32_t slot_size;   /* bytes from one CPU's value to the next */
	uint32_t n_slots;     /* values per key: possible CPUs, or 1; slot i
			       * belongs to the i-th possible CPU
			       */
	const uint8_t *keys;   /* n * key_size */
	const uint8_t *values; /* n * n_slots * slot_size */
	int end;	       /* 1: the last page */
	const void *cursor;    /* opaque: continues after this page */
	size_t cursor_len;     /* bytes; 0 after the last page */
	const char *engine;    /* what read it */
	const char *reason;    /* why that one */
	int coherence;	       /* enum bpfleet_coherence */
	uint64_t restarts;     /* walks begun again, since the first page */
	uint32_t retries;      /* kernel calls repeated for this page */
	uint64_t skipped;      /* holes and vanished entries since the start */
	uint64_t started_ns, ended_ns; /* wall clock of the agent's host */
};

struct bpfleet_dump;

struct bpfleet_dump_opts {
	size_t sz;
	const void *cursor; /* continue after that page; NULL: from the start */
	size_t cursor_len;
	uint32_t page_entries; /* wanted per page; a hash map's page may hold
				* more, since buckets are not split; 0: by
				* bytes
				*/
	uint32_t page_bytes;   /* keys + values; 0: 256 KiB */
	const char *engine;    /* NULL: the agent chooses */
	int coherence;	       /* BPFLEET_EXACT (also 0) or BPFLEET_FAST */
	int count_only;	       /* 1: pages carry n, but no columns */
};

/*
 * bpfleet_dump_open - prepare a dump; nothing is sent yet
 *
 * Owns:    bpfleet_dump_close() the dump, before the session
 */
BPFLEET_API int bpfleet_dump_open(struct bpfleet_dump **out, struct bpfleet *b,
				  const struct bpfleet_map_ref *map,
				  const struct bpfleet_dump_opts *opts,
				  struct bpfleet_error *err);

/*
 * bpfleet_dump_next - the next page
 *
 * While the caller uses a page, the next one is already being read.  When
 * the connection breaks, the same page is asked for again until the connect
 * timeout has passed, so a restarted agent loses and repeats nothing.
 *
 * Returns: 1 and a page; 0 after the last page; -BPFLEET_EGONE,
 *          -BPFLEET_EREPLACED: the map is another, pages so far stand alone;
 *          -BPFLEET_ECURSOR; -BPFLEET_EUNREADABLE; -BPFLEET_EUNREACHABLE;
 *          -BPFLEET_ETIMEOUT; -BPFLEET_ETOOBIG; others
 * Owns:    *page is borrowed until the next call with this dump
 */
BPFLEET_API int bpfleet_dump_next(struct bpfleet_dump *d,
				  const struct bpfleet_page **page,
				  struct bpfleet_error *err);
BPFLEET_API void bpfleet_dump_close(struct bpfleet_dump *d);

/* -------------------------------------------------------------- lookups */

struct bpfleet_values {
	uint32_t map_id;
	uint32_t n;		/* keys asked for; 1 for a peek */
	uint32_t value_size, slot_size, n_slots; /* as in a page */
	const uint8_t *found;	/* n bytes: 1 found, 0 not */
	const uint8_t *values;	/* n * n_slots * slot_size; 0 where not found */
	int coherence;		/* enum bpfleet_coherence */
	uint64_t started_ns, ended_ns;
};

/*
 * bpfleet_lookup - values of many keys in one request
 *
 * In:      keys: n_keys * key_size bytes; for a bloom filter the members to
 *          test, of value_size bytes each
 * Returns: 0, found or not; -BPFLEET_EARGUMENT if key_size is not the map's;
 *          -BPFLEET_ENOMAP; -BPFLEET_EUNREADABLE; -BPFLEET_ETOOBIG: ask for
 *          fewer at once
 * Owns:    bpfleet_values_free() the result
 */
BPFLEET_API int bpfleet_lookup(struct bpfleet_values **out, struct bpfleet *b,
			       const struct bpfleet_map_ref *map,
			       const void *keys, uint32_t key_size,
			       size_t n_keys, struct bpfleet_error *err);

/*
 * bpfleet_peek - the head of a queue or stack, left where it is
 *
 * Returns: 0, with found[0] 0 if it is empty; -BPFLEET_EUNREADABLE for
 *          another type of map; as bpfleet_lookup()
 * Owns:    bpfleet_values_free() the result
 */
BPFLEET_API int bpfleet_peek(struct bpfleet_values **out, struct bpfleet *b,
			     const struct bpfleet_map_ref *map,
			     struct bpfleet_error *err);
BPFLEET_API void bpfleet_values_free(struct bpfleet_values *values);

#ifdef __cplusplus
}
#endif

#endif
