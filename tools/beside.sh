#!/bin/sh
# SPDX-License-Identifier: MIT
# beside.sh COMMAND...: runs it with what others leave of the CPUs, by the nice value BESIDE_NICE.
# Meson makes each test a session, which the scheduler weighs as one (sched(7), autogroup): the weight
# of that, for nice values of processes are what tests may look at.
echo "$BESIDE_NICE" 2>/dev/null >/proc/self/autogroup
exec "$@"
