/* SPDX-License-Identifier: MIT */
/* The part of workload.c that throws. */
#include <stdexcept>
#include <string>

#define COUNTED(name) extern "C" __attribute__((noinline, section("graph_" #name)))

static volatile int sink;

extern "C" void leaf_loop(int n);
extern "C" void catcher(int n);

COUNTED(thrower) void thrower(int n)
{
	std::string words(100, 'x');

	if (n % 3 == 0)
		throw std::runtime_error(words);
	leaf_loop(20);
	sink = sink + (int)words.size();
}

struct cleaner {
	~cleaner()
	{
		leaf_loop(10);
	}
};

COUNTED(thrower_caller) void thrower_caller(int n)
{
	cleaner on_the_way;

	thrower(n);
	sink = sink + 1;
}

COUNTED(catcher) void catcher(int n)
{
	try {
		thrower_caller(n);
	} catch (const std::exception &e) {
		sink = sink + e.what()[0];
		leaf_loop(10);
	}
	sink = sink + 1;
}
