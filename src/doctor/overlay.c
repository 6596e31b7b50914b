/* SPDX-License-Identifier: MIT */
/* The check of nodes that serve each other. */
#include "cluster/mac.h"
#include "cluster/transport/transport.h"
#include "doctor/checks.h"

void doctor_overlay(struct doctor_finding *f)
{
	const struct transport *transport;
	struct err e;

	transport = transport_find("auto", &e);
	if (mac_open(&e) < 0)
		doctor_report(f, DOCTOR_FAILS,
			      "'apt-get install libssl3'; to build, also libssl-dev", "%s", e.msg);
	else
		doctor_report(f, DOCTOR_WORKS, "",
			      "nodes talk by %s (%s), and sign messages with libcrypto",
			      transport->name, transport_reason());
}
