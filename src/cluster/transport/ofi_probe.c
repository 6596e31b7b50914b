/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "cluster/transport/ofi_internal.h"

#define SILENT_NS (NS_PER_S / 10)   /* before a probe, and between probes */
#define UNPROBED_NS (NS_PER_S / 5)  /* the provider has lost the connection, and finds nobody */
#define OWED_MAX_NS (60 * NS_PER_S) /* a reply that late was lost */
#define WORD 8                      /* bytes */

int ofi_probe_open(struct ofi *t)
{
	int rc = ofi_memory_open(&t->fabric, &t->life, WORD, FI_REMOTE_READ);

	if (!rc)
		rc = ofi_memory_open(&t->fabric, &t->probe, WORD, FI_READ);
	if (rc)
		return rc;
	memset(t->life.bytes, 0, WORD);
	t->fabric.own.life_key = t->life.key;
	t->fabric.own.life_address = t->life.address;
	return 0;
}

void ofi_probe_close(struct ofi *t)
{
	ofi_memory_free(&t->life);
	ofi_memory_free(&t->probe);
}

void ofi_probe_requested(struct ofi_peer *p, int64_t now)
{
	if (!p->owed++)
		p->owed_ns = now;
}

void ofi_probe_heard(struct ofi_peer *p, int64_t now)
{
	p->owed_ns = now;
	p->unprobed_ns = 0;
}

void ofi_probe_replied(struct ofi_peer *p)
{
	if (p->owed)
		p->owed--;
}

void ofi_probe_lost(struct ofi_peer *p)
{
	p->owed = 0;
	p->probed_ns = p->unprobed_ns = 0;
	p->is_abandoned = p->is_probing;
}

static bool is_due(const struct ofi_peer *p, int64_t now)
{
	return p->owed && p->is_connected && p->session.is_ready && !p->is_probing &&
	       p->at != FI_ADDR_NOTAVAIL && now - p->owed_ns >= SILENT_NS &&
	       now - p->probed_ns >= SILENT_NS;
}

void ofi_probe_settle(struct ofi *t, struct ofi_peer *p, int64_t now)
{
	ssize_t rc;

	if (now - p->owed_ns > OWED_MAX_NS)
		p->owed = 0;
	if (!is_due(p, now))
		return;
	p->probe = (struct ofi_op){ .use = OFI_PROBE, .rank = p->rank };
	rc = fi_read(t->fabric.endpoint, t->probe.bytes, WORD, t->probe.desc, p->at,
		     p->address.life_address, p->address.life_key, &p->probe.context);
	if (rc == 0) {
		p->is_probing = true;
		p->probed_ns = now;
		p->unprobed_ns = 0;
		return;
	}
	t->is_blocked = true;
	if (!p->unprobed_ns) {
		p->unprobed_ns = now;
		p->unprobed_tries = 0;
	}
	p->unprobed_tries++;
	if (rc != -FI_EAGAIN ||
	    (now - p->unprobed_ns >= UNPROBED_NS && p->unprobed_tries >= OFI_TRIES))
		p->is_failed = true;
}

void ofi_probe_complete(struct ofi *t, uint32_t rank, bool is_read)
{
	struct ofi_peer *p = ofi_peer_find(t, rank);

	if (!is_read && !p->is_abandoned)
		p->is_failed = true;
	p->is_probing = p->is_abandoned = false;
}
