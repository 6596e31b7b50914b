/* SPDX-License-Identifier: MIT */
/*
 * pprof_fields: the numbers of profile.proto's fields, and of auger's extensions.
 *
 * An extension is a length-delimited field of the Profile message with a number of 1000 or more.
 * go tool pprof skips such fields; it refuses a further gzip member that is no protobuf. 1000 to
 * 1099 are auger's; each has one meaning for good. Unknown ones are skipped when read, and are not
 * written again: what they hold may refer to samples that a filter or a merge changes. One that
 * refers to no samples has strings of its own, and may be repeated, so that merge can append those
 * of its inputs.
 *
 * Source: github.com/google/pprof, proto/profile.proto; protobuf.dev, "Unknown Fields".
 */
#ifndef FORMAT_PPROF_FIELDS_H
#define FORMAT_PPROF_FIELDS_H

enum pprof_profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_DROP_FRAMES = 7,
	PROFILE_KEEP_FRAMES = 8,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
	PROFILE_DOC_URL = 15,
};
enum pprof_extension_field {
	PROFILE_JOURNAL = 1000,         /* a record of a recording's spool: journal.h */
	PROFILE_TIME_LINE = 1001,       /* when samples were taken: times.h */
	PROFILE_RANK_STATISTICS = 1002, /* reserved: one message a rank */
};
enum pprof_value_type_field {
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
};
enum pprof_sample_field {
	SAMPLE_LOCATION_ID = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
};
enum pprof_label_field {
	LABEL_KEY = 1,
	LABEL_STR = 2,
	LABEL_NUM = 3,
	LABEL_NUM_UNIT = 4,
};
enum pprof_mapping_field {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,
};
enum pprof_location_field {
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LOCATION_IS_FOLDED = 5,
};
enum pprof_line_field {
	LINE_FUNCTION_ID = 1,
	LINE_LINE = 2,
};
enum pprof_function_field {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
	FUNCTION_START_LINE = 5,
};

#endif
