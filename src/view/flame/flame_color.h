/* SPDX-License-Identifier: MIT */
/*
 * flame_color: the colors of flame graphs: bands of related hues, eight shades each, for light and
 * dark backgrounds. A shade is a CSS class of two characters.
 */
#ifndef VIEW_FLAME_FLAME_COLOR_H
#define VIEW_FLAME_FLAME_COLOR_H

#include <stdint.h>

#include "base/buf.h"
#include "view/tree.h"

#define FLAME_SHADES 8

enum flame_colors {
	FLAME_COLORS_MODULE, /* a band for each kind of code, shades by module and name */
	FLAME_COLORS_NAME,   /* all hues, by name: a function has the same in all pictures */
	FLAME_COLORS_HOT,    /* warm hues, by name */
	FLAME_COLORS_PLAIN,  /* one hue */
};
extern const char *const flame_colors_names[]; /* for OPT_CHOICE */

enum flame_band {
	FLAME_BAND_ROOT,
	FLAME_BAND_NAME, /* frames without module; all of FLAME_COLORS_HOT */
	FLAME_BAND_PROGRAM,
	FLAME_BAND_LIBRARY,
	FLAME_BAND_KERNEL,
	FLAME_BAND_JIT,
	FLAME_BAND_INLINED,
	FLAME_BAND_PLAIN,
	FLAME_BAND_WHEEL, /* this and the next: FLAME_COLORS_NAME */
	FLAME_BAND_WHEEL_REST,
	FLAME_BAND_LESS, /* differential: eight grades, strongest last */
	FLAME_BAND_MORE,
	FLAME_BAND_SAME,
	FLAME_BAND_ON,  /* on the CPU, at least for the larger part; the purer, the lower the shade
			 */
	FLAME_BAND_OFF, /* off the CPU; the purer, the higher the shade */
	FLAME_BANDS
};

struct flame_shade {
	enum flame_band band;
	unsigned shade; /* below FLAME_SHADES */
};

/* What the legend calls a band; NULL: not in the legend. */
const char *flame_band_label(enum flame_band band);

struct flame_shade flame_shade_of(const struct frames *frames, uint32_t frame,
				  enum flame_colors colors);
void flame_put_class(struct buf *out, struct flame_shade shade);

/* The style rules of the shades whose bits are set. */
void flame_put_rules(struct buf *out, const uint8_t used[FLAME_BANDS]);

#endif
