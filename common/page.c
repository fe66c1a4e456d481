// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * page - sizes and memory of the columns
 */
#include "common/page.h"

#include "common/err.h"

#include <errno.h>
#include <stdlib.h>

int
bf_shape_set(struct bf_shape *out, uint32_t key_size, uint32_t value_size,
	     bool per_cpu, uint32_t n_possible_cpus)
{
	struct bf_shape s = {
		.key_size = key_size,
		.value_size = value_size,
		.slot_size = value_size,
		.n_slots = 1,
	};

	if (value_size > BF_PAGE_MAX || key_size > BF_KEY_MAX)
		return -EINVAL;
	if (per_cpu) {
		s.slot_size = (uint32_t)bf_round_up8(value_size);
		s.n_slots = n_possible_cpus;
	}
	if (!s.n_slots || bf_shape_entry_bytes(&s) > BF_PAGE_MAX)
		return -EINVAL;
	*out = s;
	return 0;
}

void
bf_page_init(struct bf_page *page, const struct bf_shape *shape)
{
	*page = (struct bf_page){
		.shape = *shape,
		.coherence = BF_EXACT,
		.engine = "",
		.reason = "",
	};
}

void
bf_page_fini(struct bf_page *page)
{
	free(page->keys);
	free(page->values);
	*page = (struct bf_page){0};
}

int
bf_page_reserve(struct bf_page *page, uint64_t cap)
{
	uint64_t entry_bytes = bf_shape_entry_bytes(&page->shape);
	uint8_t *column;

	if (cap <= page->cap)
		return 0;
	if (cap > UINT32_MAX ||
	    (entry_bytes && cap > BF_PAGE_MAX / entry_bytes))
		return -BF_ETOOBIG;
	column = realloc(page->keys, cap * page->shape.key_size + 1);
	if (!column)
		return -ENOMEM;
	page->keys = column;
	column = realloc(page->values,
			 cap * bf_shape_value_bytes(&page->shape) + 1);
	if (!column)
		return -ENOMEM;
	page->values = column;
	page->cap = (uint32_t)cap;
	return 0;
}

const char *
bf_coherence_str(enum bf_coherence coherence)
{
	static const char *const words[] = {
		[BF_EXACT] = "exact",
		[BF_FAST] = "fast",
		[BF_MAY_REPEAT] = "may-repeat",
		[BF_INCOMPLETE] = "incomplete",
	};

	if (coherence < BF_EXACT || coherence > BF_INCOMPLETE)
		return "unknown";
	return words[coherence];
}
