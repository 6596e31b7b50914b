/* SPDX-License-Identifier: MIT */
#include "cluster/transport/transport.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"

#ifdef HAVE_LIBFABRIC
static const struct transport *const transports[] = { &transport_tcp, &transport_ofi };
#define NAMES "auto, tcp, ofi"
#else
static const struct transport *const transports[] = { &transport_tcp };
#define NAMES "auto, tcp"
#endif

/* Is there a device that the kernel lists in the folder? */
static bool has_device(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	bool is_found = false;

	if (!dir)
		return false;
	while (!is_found && (entry = readdir(dir)))
		is_found = *entry->d_name != '.';
	closedir(dir);
	return is_found;
}

/* Source: the kernel's Documentation/ABI, sysfs-class-infiniband (also EFA, Omni-Path); cxi. */
static bool has_fabric(void)
{
	return has_device("/sys/class/infiniband") || has_device("/sys/class/cxi");
}

const char *transport_reason(void)
{
	if (!has_fabric())
		return "no network card for libfabric here";
	return ARRAY_LEN(transports) > 1
		       ? "a network card is here; tcp if libfabric does not drive it"
		       : "built without libfabric";
}

static bool is_auto(const char *name)
{
	return !name || strcmp(name, "auto") == 0;
}

const struct transport *transport_find(const char *name, struct err *e)
{
	if (is_auto(name))
		return transports[has_fabric() ? ARRAY_LEN(transports) - 1 : 0];
	for (size_t i = 0; i < ARRAY_LEN(transports); i++)
		if (strcmp(name, transports[i]->name) == 0)
			return transports[i];
	err_set(e, -ENOTSUP, "no transport '%s' here: " NAMES, name);
	return NULL;
}

int transport_open(const char *name, const struct transport_config *config,
		   const struct transport **ret, void **ret_self, char ret_endpoint[ENDPOINT_MAX],
		   struct err *e)
{
	const struct transport *found = transport_find(name, e);
	struct transport_config c = *config;
	int rc;

	if (!found)
		return e->code;
	c.needs_card = is_auto(name);
	rc = found->open(&c, ret_self, ret_endpoint, e);
	if (rc == -ENOTSUP && is_auto(name) && found != &transport_tcp) {
		log_msg(LOG_INFO, "cluster", "messages go by TCP: %s", e->msg);
		found = &transport_tcp;
		rc = found->open(&c, ret_self, ret_endpoint, e);
	}
	if (rc == 0)
		*ret = found;
	return rc;
}
