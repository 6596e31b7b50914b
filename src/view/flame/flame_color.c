/* SPDX-License-Identifier: MIT */
#include "view/flame/flame_color.h"

#include <math.h>
#include <stddef.h>

const char *const flame_colors_names[] = { "module", "name", "hot", "plain", NULL };

/* Hue in degrees, the rest in 0..1. A shade is one of four hues and one of two lights; with a
 * ramp, one of eight lights. */
static const struct band {
	char letter;
	const char *label;
	double hue, spread; /* of the first hue, and from it to the fourth */
	double saturation, light;
	double dark_saturation, dark_light;
	double ramp, dark_ramp; /* added to the light with each shade */
} bands[FLAME_BANDS] = {
	[FLAME_BAND_ROOT] = { 'a', NULL, 220, 0, .10, .84, .08, .34, 0, 0 },
	[FLAME_BAND_NAME] = { 'n', NULL, 8, 42, .92, .70, .52, .36, 0, 0 },
	[FLAME_BAND_PROGRAM] = { 'p', "program", 32, 16, .92, .70, .56, .34, 0, 0 },
	[FLAME_BAND_LIBRARY] = { 'l', "library", 198, 30, .72, .74, .44, .38, 0, 0 },
	[FLAME_BAND_KERNEL] = { 'k', "kernel", 272, 30, .62, .80, .34, .44, 0, 0 },
	[FLAME_BAND_JIT] = { 'j', "JIT", 88, 36, .50, .68, .36, .34, 0, 0 },
	[FLAME_BAND_INLINED] = { 'i', "inlined", 164, 12, .48, .72, .40, .33, 0, 0 },
	[FLAME_BAND_PLAIN] = { 'm', NULL, 214, 8, .40, .80, .24, .38, 0, 0 },
	[FLAME_BAND_WHEEL] = { 'r', NULL, 0, 135, .62, .76, .40, .38, 0, 0 },
	[FLAME_BAND_WHEEL_REST] = { 's', NULL, 180, 135, .62, .76, .40, .38, 0, 0 },
	[FLAME_BAND_LESS] = { 'b', "less", 216, 0, .90, .93, .60, .25, -.04, .035 },
	[FLAME_BAND_MORE] = { 'd', "more", 6, 0, .92, .93, .62, .25, -.04, .035 },
	[FLAME_BAND_ON] = { 'o', "on the CPU", 390, -55, .88, .70, .54, .36, 0, 0 },
	[FLAME_BAND_OFF] = { 'w', "off the CPU", 280, -70, .62, .76, .42, .40, 0, 0 },
	[FLAME_BAND_SAME] = { 'e', "not changed", 220, 0, .08, .88, .06, .30, 0, 0 },
};

const char *flame_band_label(enum flame_band band)
{
	return bands[band].label;
}

/* FNV-1a, its high bits mixed into the low ones that are used. */
static uint32_t hash_text(const char *text)
{
	uint32_t hash = 2166136261;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619;
	hash ^= hash >> 15;
	hash *= 0x2c1b3c6d;
	return hash ^ hash >> 13;
}

static enum flame_band band_of(const struct frame *frame)
{
	if (frame->is_inlined)
		return FLAME_BAND_INLINED;
	switch (frame->kind) {
	case FRAME_PROGRAM:
		return FLAME_BAND_PROGRAM;
	case FRAME_LIBRARY:
		return FLAME_BAND_LIBRARY;
	case FRAME_KERNEL:
		return FLAME_BAND_KERNEL;
	case FRAME_JIT:
		return FLAME_BAND_JIT;
	case FRAME_NAME:
		break;
	}
	return FLAME_BAND_NAME;
}

struct flame_shade flame_shade_of(const struct frames *frames, uint32_t id,
				  enum flame_colors colors)
{
	const struct frame *frame = &frames->list[id];
	uint32_t name = hash_text(frames_text(frames, frame->name));
	uint32_t module = hash_text(frames_text(frames, frame->module));
	enum flame_band band = FLAME_BAND_ROOT;

	if (id == 0)
		return (struct flame_shade){ band, 0 };
	switch (colors) {
	case FLAME_COLORS_HOT:
		return (struct flame_shade){ FLAME_BAND_NAME, name % FLAME_SHADES };
	case FLAME_COLORS_PLAIN:
		return (struct flame_shade){ FLAME_BAND_PLAIN, name % FLAME_SHADES };
	case FLAME_COLORS_NAME:
		band = name & FLAME_SHADES ? FLAME_BAND_WHEEL_REST : FLAME_BAND_WHEEL;
		return (struct flame_shade){ band, name % FLAME_SHADES };
	case FLAME_COLORS_MODULE:
		break;
	}
	band = band_of(frame);
	if (!*frames_text(frames, frame->module))
		return (struct flame_shade){ band, name % FLAME_SHADES };
	return (struct flame_shade){ band, module % 4 * 2 + name % 2 };
}

void flame_put_class(struct buf *out, struct flame_shade shade)
{
	buf_put_byte(out, (unsigned char)bands[shade.band].letter);
	buf_put_byte(out, (unsigned char)('0' + shade.shade));
}

/* One channel of a color given by hue, saturation and lightness (CSS Color 4, section 7). */
static unsigned channel(double hue, double saturation, double light, double offset)
{
	double k = fmod(offset + hue / 30, 12);
	double amplitude = saturation * fmin(light, 1 - light);
	double value = light - amplitude * fmax(-1, fmin(fmin(k - 3, 9 - k), 1));

	return (unsigned)lround(255 * value);
}

static void put_rule(struct buf *out, struct flame_shade shade, bool is_dark)
{
	const struct band *b = &bands[shade.band];
	double hue = b->hue + b->spread * (shade.shade / 2) / 3;
	double saturation = is_dark ? b->dark_saturation : b->saturation;
	double light = is_dark ? b->dark_light : b->light;

	if (b->ramp != 0)
		light += shade.shade * (is_dark ? b->dark_ramp : b->ramp);
	else
		light += shade.shade % 2 ? .05 : 0;

	buf_put_byte(out, '.');
	flame_put_class(out, shade);
	buf_printf(out, "{fill:#%02x%02x%02x}", channel(hue, saturation, light, 0),
		   channel(hue, saturation, light, 8), channel(hue, saturation, light, 4));
}

static void put_mode(struct buf *out, const uint8_t used[FLAME_BANDS], bool is_dark)
{
	for (unsigned band = 0; band < FLAME_BANDS; band++)
		for (unsigned i = 0; i < FLAME_SHADES; i++)
			if (used[band] >> i & 1)
				put_rule(out, (struct flame_shade){ (enum flame_band)band, i },
					 is_dark);
	buf_put_byte(out, '\n');
}

void flame_put_rules(struct buf *out, const uint8_t used[FLAME_BANDS])
{
	put_mode(out, used, false);
	buf_put_str(out, "@media screen and (prefers-color-scheme:dark){");
	put_mode(out, used, true);
	buf_put_str(out, "}\n");
}
