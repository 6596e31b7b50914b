/* SPDX-License-Identifier: MIT */
#include "cluster/transport/endpoint.h"

#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/str.h"

#define PREFIX "tcp:"

static int resolve(const char *host, const char *port, int flags, struct endpoint *ret)
{
	struct addrinfo hints = { .ai_flags = flags | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	bool is_found;

	if (getaddrinfo(host, port, &hints, &list) != 0)
		return -EINVAL;
	is_found = list->ai_addrlen <= sizeof(ret->address);
	if (is_found) {
		*ret = (struct endpoint){ .len = list->ai_addrlen };
		memcpy(&ret->address, list->ai_addr, list->ai_addrlen);
	}
	freeaddrinfo(list);
	return is_found ? 0 : -EINVAL;
}

static int refuse(const char *text, struct err *e)
{
	return err_set(e, -EINVAL, "'%.100s' is no endpoint of TCP", text);
}

int endpoint_parse(const char *text, struct endpoint *ret, struct err *e)
{
	char host[ENDPOINT_MAX], *at = host, *colon;
	size_t len = strlen(text);
	uint64_t port;

	if (len >= ENDPOINT_MAX || !text_starts_with(text, PREFIX))
		return refuse(text, e);
	memcpy(host, text + strlen(PREFIX), len - strlen(PREFIX) + 1);
	colon = strrchr(host, ':');
	if (!colon || colon == host || !colon[1])
		return refuse(text, e);
	*colon = '\0';
	if (*host == '[') {
		if (colon[-1] != ']' || colon == host + 1)
			return refuse(text, e);
		colon[-1] = '\0';
		at++;
	}
	if (number_parse(colon + 1, strlen(colon + 1), &port) != strlen(colon + 1) || !port ||
	    port > UINT16_MAX || !*at || resolve(at, colon + 1, AI_NUMERICHOST, ret) < 0)
		return refuse(text, e);
	return 0;
}

static bool to_text(const struct endpoint *at, char host[ENDPOINT_MAX], char port[16])
{
	return getnameinfo((const struct sockaddr *)&at->address, at->len, host, ENDPOINT_MAX - 24,
			   port, 16, NI_NUMERICHOST | NI_NUMERICSERV) == 0;
}

void endpoint_print(const struct endpoint *at, char ret[ENDPOINT_MAX])
{
	char host[ENDPOINT_MAX], port[16];

	if (!to_text(at, host, port))
		snprintf(ret, ENDPOINT_MAX, "unknown");
	else if (at->address.ss_family == AF_INET6)
		snprintf(ret, ENDPOINT_MAX, PREFIX "[%.100s]:%s", host, port);
	else
		snprintf(ret, ENDPOINT_MAX, PREFIX "%.100s:%s", host, port);
}

void endpoint_print_host(const struct endpoint *at, char ret[ENDPOINT_MAX])
{
	char port[16];

	if (!to_text(at, ret, port))
		snprintf(ret, ENDPOINT_MAX, "an unknown address");
}

static bool is_wildcard(const struct endpoint *at)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&at->address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&at->address;

	return at->address.ss_family == AF_INET ? v4->sin_addr.s_addr == htonl(INADDR_ANY)
						: IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
}

static bool is_loopback(const struct endpoint *at)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&at->address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&at->address;

	return at->address.ss_family == AF_INET ? ntohl(v4->sin_addr.s_addr) >> 24 == 127
						: IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* An address of the interface; name NULL: of the first one that is up and not the loopback. IPv4
 * before IPv6. */
static bool find_interface(const char *name, struct endpoint *ret)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct ifaddrs *all;
	bool is_found = false;

	if (getifaddrs(&all) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(families) && !is_found; i++) {
		for (const struct ifaddrs *at = all; at && !is_found; at = at->ifa_next) {
			if (!at->ifa_addr || at->ifa_addr->sa_family != families[i] ||
			    !(at->ifa_flags & IFF_UP) ||
			    (name ? strcmp(name, at->ifa_name) != 0
				  : (at->ifa_flags & IFF_LOOPBACK) != 0))
				continue;
			*ret = (struct endpoint){ .len = families[i] == AF_INET
								 ? sizeof(struct sockaddr_in)
								 : sizeof(struct sockaddr_in6) };
			memcpy(&ret->address, at->ifa_addr, ret->len);
			is_found = true;
		}
	}
	freeifaddrs(all);
	return is_found;
}

static int choose_named(const char *listen, struct endpoint *ret, struct err *e)
{
	if (resolve(listen, "0", AI_NUMERICHOST, ret) == 0) {
		if (is_wildcard(ret))
			return err_set(e, -EINVAL,
				       "'%s' is no address that other nodes can connect to",
				       listen);
		return 0;
	}
	if (find_interface(listen, ret))
		return 0;
	return err_set(e, -EINVAL,
		       "'%s' is neither a numeric address nor an interface of this host that is up",
		       listen);
}

int endpoint_choose(const char *listen, struct endpoint *ret, struct err *e)
{
	char host[HOST_NAME_MAX + 1];

	if (listen)
		return choose_named(listen, ret, e);
	if (gethostname(host, sizeof(host)) == 0 && resolve(host, "0", 0, ret) == 0 &&
	    !is_loopback(ret) && !is_wildcard(ret))
		return 0;
	if (find_interface(NULL, ret))
		return 0;
	return choose_named("127.0.0.1", ret, e);
}
