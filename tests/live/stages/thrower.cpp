/* SPDX-License-Identifier: MIT */
/* Stages that are left by exceptions, by both kinds of C++ scope. */
#include <auger/stage.hpp>
#include <iostream>
#include <stdexcept>

static void throws(auger_profiler *p, int depth)
{
	AUGER_STAGE(p, "macro");
	auger::stage object(p, std::string("object"));

	if (depth == 0)
		throw std::runtime_error("enough");
	throws(p, depth - 1);
}

int main()
{
	auger::profiler prof;
	auger::profiler moved(std::move(prof));

	for (int i = 0; i < 100; i++) {
		AUGER_STAGE(moved.get(), "catch");
		try {
			throws(moved.get(), 1);
		} catch (const std::runtime_error &) {
		}
	}
	{
		static auger_name name = AUGER_NAME("named");
		auger::stage stage(moved.get(), name);
	}
	moved.set("input", "exceptions");
	std::cout << moved.report() << "\n";
	moved.reset();
	return prof ? 1 : 0;
}
