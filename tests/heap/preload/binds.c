/* SPDX-License-Identifier: MIT */
/*
 * binds: opens plugin.so with RTLD_DEEPBIND, which its own RUNPATH alone leads to, and frees five
 * blocks of 77 bytes that the plugin allocates. 1: not possible.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

int main(void)
{
	void *plugin = dlopen("plugin.so", RTLD_NOW | RTLD_DEEPBIND);
	void *(*make)(size_t);

	if (!plugin)
		return 1;
	*(void **)&make = dlsym(plugin, "plugin_make");
	for (int i = 0; make && i < 5; i++)
		free(make(77));
	return make ? 0 : 1;
}
