/* SPDX-License-Identifier: MIT */
/*
 * jstack: thread dumps of Java: jstack(1), jcmd Thread.print, kill -3; one behind another.
 *
 *	"http-12" #31 daemon prio=5 tid=0x7f27 nid=0xe3c runnable [0x7f28]
 *	   java.lang.Thread.State: RUNNABLE
 *		at java.net.SocketInputStream.read(SocketInputStream.java:121)
 *
 * Each stack of each dump counts one: "runnable", which is shown, or "waiting". Threads of the JVM,
 * and those that are RUNNABLE for Java and wait in the kernel (epollWait, accept, socketRead0),
 *wait. stackcollapse-jstack.pl has runnable threads only.
 *
 * Source: jstack(1); stackcollapse-jstack.pl of github.com/brendangregg/FlameGraph, by what it
 *reads and writes.
 */
#ifndef FORMAT_STACKTEXT_JSTACK_H
#define FORMAT_STACKTEXT_JSTACK_H

#include "format/format.h"

extern const struct format format_jstack;

#endif
