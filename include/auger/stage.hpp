/* SPDX-License-Identifier: MIT */
/*
 * stage: the stage library for C++11 and later. An object ends what it begins.
 *
 *	auger::profiler prof;
 *	{
 *		AUGER_STAGE(prof.get(), "extract");      // by a literal: the fastest
 *		auger::stage inner(prof.get(), name);    // by a string computed at run time
 *	}
 *	std::string report = prof.report();
 *
 * A stage ends when its object is destroyed, also by an exception. See stage.h for the rest.
 */
#ifndef AUGER_STAGE_HPP
#define AUGER_STAGE_HPP

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "auger/stage.h"

namespace auger
{

/* Options with their defaults. */
struct options : auger_opts {
	options() : auger_opts()
	{
		size = sizeof(auger_opts);
	}
};

/* Owns a profiler. Empty when it is off. */
class profiler
{
      public:
	explicit profiler(const auger_opts &opts = options()) : p(auger_profiler_new(&opts))
	{
	}
	profiler(profiler &&other) noexcept : p(other.p)
	{
		other.p = nullptr;
	}
	profiler &operator=(profiler &&other) noexcept
	{
		std::swap(p, other.p);
		return *this;
	}
	profiler(const profiler &) = delete;
	profiler &operator=(const profiler &) = delete;
	~profiler()
	{
		auger_profiler_close(p);
	}

	auger_profiler *get() const noexcept
	{
		return p;
	}
	explicit operator bool() const noexcept
	{
		return p != nullptr;
	}
	void set(const char *key, const std::string &value)
	{
		auger_profiler_set(p, key, value.c_str());
	}
	void reset()
	{
		auger_profiler_reset(p);
	}
	/* One JSON object; empty when off or out of memory. */
	std::string report() const
	{
		std::size_t len = 0;
		char *text = auger_profiler_report(p, &len);
		std::string copy(text ? text : "", text ? len : 0);

		std::free(text);
		return copy;
	}
	/* 0 or a negative errno. */
	int write(const std::string &path) const
	{
		return auger_profiler_write(p, path.c_str());
	}

      private:
	auger_profiler *p;
};

/* A stage for the lifetime of the object, in the thread that created it. */
class stage
{
      public:
	stage(auger_profiler *profiler, auger_name &name) noexcept
	    : p(profiler), token(auger_stage_begin(profiler, &name))
	{
	}
	stage(auger_profiler *profiler, const std::string &name) noexcept
	    : p(profiler), token(auger_stage_begin_name(profiler, name.data(), name.size()))
	{
	}
	stage(auger_profiler *profiler, const char *name) noexcept
	    : p(profiler),
	      token(auger_stage_begin_name(profiler, name, name ? std::strlen(name) : 0))
	{
	}
	stage(const stage &) = delete;
	stage &operator=(const stage &) = delete;
	~stage()
	{
		auger_stage_end(p, token);
	}

      private:
	auger_profiler *p;
	auger_token token;
};

} // namespace auger

#endif
