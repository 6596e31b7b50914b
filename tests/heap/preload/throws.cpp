// SPDX-License-Identifier: MIT
// throws: exceptions through the hooks, new and delete of every kind, and a library's own pool.
#include <cstdio>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

static volatile int sink;

__attribute__((noinline)) static void thrower(int depth)
{
	std::string text(100, 'x');

	if (depth == 0)
		throw std::runtime_error(text);
	thrower(depth - 1);
	sink = sink + 1;
}

__attribute__((noinline)) static char *by_new()
{
	char *block = new char[1234];

	sink = sink + 1;
	return block;
}

struct alignas(64) Wide {
	char bytes[128];
};

__attribute__((noinline)) static Wide *by_aligned_new()
{
	Wide *wide = new Wide;

	sink = sink + 1;
	return wide;
}

int main()
{
	int caught = 0;

	std::setvbuf(stdout, nullptr, _IONBF, 0);
	for (int i = 0; i < 1000; i++) {
		try {
			thrower(i % 20);
		} catch (const std::exception &e) {
			caught += std::string(e.what()).size() == 100;
		}
	}
	delete[] by_new();
	delete by_aligned_new();
	std::vector<std::unique_ptr<int>> numbers;
	for (int i = 0; i < 1000; i++)
		numbers.push_back(std::make_unique<int>(i));
	std::printf("%d\n", caught);
	return caught == 1000 ? 0 : 1;
}
