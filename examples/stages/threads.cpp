/* SPDX-License-Identifier: MIT */
/*
 * Threads that work for a stage of their parent: their labels are "solve.block".
 *
 *	c++ -pthread threads.cpp $(pkg-config --cflags --libs auger)
 */
#include <auger/stage.hpp>
#include <cmath>
#include <iostream>
#include <stdexcept>
#include <thread>
#include <vector>

static double block(auger_profiler *prof, int number)
{
	AUGER_STAGE(prof, "block");
	double sum = 0;

	for (int i = 1; i < 200000; i++)
		sum += std::sin(number + 1.0 / i);
	if (number == 3)
		throw std::runtime_error("block 3 does not converge"); // its stage ends
	return sum;
}

int main()
{
	auger::options opts;
	opts.per_thread = 1;
	auger::profiler prof(opts);
	std::vector<double> sums(4);

	{
		AUGER_STAGE(prof.get(), "solve");
		auger_path here = auger_stage_current(prof.get());
		std::vector<std::thread> threads;

		for (int i = 0; i < 4; i++) {
			threads.emplace_back([&, i] {
				auger_thread_attach(prof.get(), here);
				try {
					sums[i] = block(prof.get(), i);
				} catch (const std::exception &e) {
					std::cerr << e.what() << "\n";
				}
			});
		}
		for (auto &thread : threads)
			thread.join();
	}
	prof.set("input", "four blocks");
	std::cout << prof.report() << "\n";
}
