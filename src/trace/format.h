/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of the .opscope format, as docs/trace-format.md specifies it: sizes, limits, ids of columns.
 * Everything here is part of the file: values are never reused, only added. All integers in a file are
 * little-endian. */
#ifndef OPSCOPE_TRACE_FORMAT_H
#define OPSCOPE_TRACE_FORMAT_H

#include <stdint.h>
#include <sys/types.h>

#define TRACE_FORMAT_VERSION 2u
#define TRACE_MIN_READER_VERSION 1u

#define SEGMENT_MAGIC "OPSCOPE\n"
#define TRAILER_MAGIC "OPSCEND\n"
#define MAGIC_BYTES 8u
#define SOURCE_BYTES 16u

/* --- segment --- */
#define SEGMENT_HEADER_BYTES 4096u
#define SEGMENT_SLOT_OFFSET 64u /* two slots, written in turn */
#define SEGMENT_SLOT_BYTES 64u
#define SEGMENT_TEXT_OFFSET 192u
#define SEGMENT_TRAILER_BYTES 64u
#define SEGMENT_HASH_SEED UINT64_C(0x6f707363) /* of header, slots and trailer */
#define SEGMENT_HASH_OFFSET 56u
enum segment_flag { SEGMENT_RECOVERED = 1 };
enum segment_state { SEGMENT_OPEN = 1, SEGMENT_FINISHED = 2 };

/* --- block --- */
#define BLOCK_MAGIC UINT32_C(0x4b42534f) /* "OSBK" */
#define BLOCK_VERSION 1u
#define BLOCK_FIXED_BYTES 96u
#define BLOCK_COLUMN_BYTES 16u
#define BLOCK_MAX_COLUMNS 64u
#define BLOCK_ALIGNMENT 8u
#define BLOCK_MAX_BYTES ((uint64_t)64 << 20)

#define ZONE_BLOCK_ROWS 16384u      /* zones in a block at most */
#define ROW_BLOCK_ROWS 65536u       /* points, counters, ... in a block at most */
#define BLOCK_MAX_ROWS (1u << 20)   /* values in any other column at most */
#define BLOCK_MAX_BLOB (16u << 20)  /* bytes of text in one block at most */
#define BLOCK_FLUSH_TEXT (8u << 20) /* the writer closes a block that has this much text */
#define LOD_BLOCK_NODES 4096u

/* Level of detail: a node of level L sums up the zones that begin in one interval of 2^L ticks. A zone
 * longer than that interval stands alone at that level. The zones of a block whose own nodes are of level L
 * are in the LOD blocks of levels L + 2, L + 4, ... Level 0 means "no nodes". */
#define LOD_MAX_LEVEL 60u

enum zone_column {
    ZONE_NAMES = 1, /* name ids that this block uses; the other columns hold indexes into it */
    ZONE_GROUP_TRACK = 2,
    ZONE_GROUP_DEPTH = 3,
    ZONE_GROUP_COUNT = 4,
    ZONE_GROUP_BASE = 5, /* start of the group's first zone */
    ZONE_CARRIED_TRACK = 6,
    ZONE_CARRIED_DEPTH = 7,
    ZONE_CARRIED_COUNT = 8,
    ZONE_CARRIED_START = 9,
    ZONE_CARRIED_DURATION = 10,
    ZONE_CARRIED_CHILD = 11,
    ZONE_CARRIED_NAME = 12,
    ZONE_LOD_GROUP = 16, /* nodes of each group, the carried groups after the others */
    ZONE_LOD_START = 17, /* after the previous node's start; of the first node: after the block's min_start */
    ZONE_LOD_SPAN = 18,
    ZONE_LOD_BUSY = 19,
    ZONE_LOD_LONGEST = 20,
    ZONE_LOD_NAME = 21,
    ZONE_LOD_COUNT = 22,
    ZONE_GAP = 32, /* after the end of the zone before in the group; 0 or arbitrary for the first */
    ZONE_DURATION = 33,
    ZONE_NAME = 34,
    ZONE_CHILD = 35,
    ZONE_EXTRA_ROW = 48,
    ZONE_EXTRA_KIND = 49,
    ZONE_EXTRA_VALUE = 50,
    ZONE_EXTRA_LENGTH = 51,
    ZONE_EXTRA_TEXT = 52,
};

/* A level-of-detail block uses ZONE_NAMES, ZONE_GROUP_TRACK, ZONE_GROUP_DEPTH and ZONE_LOD_*, and: */
enum lod_column { LOD_INFO = 64 };
enum lod_info { LOD_INFO_FROM, LOD_INFO_TO, LOD_INFO_LEVEL, LOD_INFO_PART, LOD_INFO_PARTS, LOD_INFO_VALUES };

enum definition_column {
    NAME_ID = 1,
    NAME_LINE = 2,
    NAME_COLOUR = 3,
    NAME_LENGTH = 4, /* of name, function, file: three values a name */
    NAME_TEXT = 5,
    PROCESS_ID = 16,
    PROCESS_PARENT = 17,
    PROCESS_PID = 18,
    PROCESS_START = 19,
    PROCESS_END = 20,
    PROCESS_STATUS = 21,
    PROCESS_FLAGS = 22,
    PROCESS_KEY = 23,
    PROCESS_LENGTH = 24, /* of command and host */
    PROCESS_TEXT = 25,
    TRACK_ID = 32,
    TRACK_PROCESS = 33,
    TRACK_PARENT = 34,
    TRACK_KIND = 35,
    TRACK_CLOCK = 36,
    TRACK_NUMBER = 37,
    TRACK_KEY = 38,
    TRACK_LENGTH = 39,
    TRACK_TEXT = 40,
    TRACK_ARCHITECTURE = 41, /* its length; version 2 */
    CLOCK_ID = 48,
    CLOCK_FLAGS = 49, /* 1 = device */
    CLOCK_RATE = 50,  /* ticks per second, bits of an IEEE double */
    CLOCK_LENGTH = 51,
    CLOCK_TEXT = 52,
    CLOCK_POINT_CLOCK = 64,
    CLOCK_POINT_TICKS = 65,
    CLOCK_POINT_HOST = 66,
    CLOCK_POINT_UNCERTAINTY = 67,
    CLOCK_POINT_REALTIME = 68,
    CLOCK_POINT_BOOTTIME = 69,
    CLOCK_POINT_FLAGS = 70, /* 1 = break */
    DESCRIPTION_ID = 80,
    DESCRIPTION_PARTS = 81,
    DESCRIPTION_ROLE = 82, /* one value a part */
    DESCRIPTION_LENGTH = 83,
    DESCRIPTION_TEXT = 84,
};

/* Points, counters, memory events, ops, runs, samples, locks, losses: one numbering for all of them. */
enum row_column {
    ROW_TRACK = 1,
    ROW_TIME = 2, /* start of an op, a run or a lock's row, first time of a loss */
    /* of a point, an op, a lock's row; reason of a loss; 1 = release of memory, 3 = of a pool */
    ROW_KIND = 3,
    ROW_NAME = 4,  /* also: header of a point, memory pool */
    ROW_VALUE = 5, /* bits of a counter's double, address of a memory event, number of a lock */
    ROW_SIZE = 6,
    ROW_LENGTH = 7,
    ROW_TEXT = 8,
    ROW_CALL = 9,
    ROW_PROCESS = 10,
    ROW_DEVICE = 11, /* device of an op, session of a run */
    ROW_DESCRIPTION = 12,
    ROW_END = 13, /* end of an op or a loss, duration of a run or a lock's row */
    ROW_CORES = 14,
    ROW_PARTS = 15,     /* number of parts of a run, of frames of a sample, other records of a loss */
    ROW_PART_NAME = 16, /* one value per part; parts of a run are ticks */
    ROW_PART_VALUE = 17,
    /* since version 2: */
    ROW_FIGURES = 18,     /* number of figures of a run that are not ticks */
    ROW_FIGURE_NAME = 19, /* one value per figure */
    ROW_FIGURE_KIND = 20,
    ROW_FIGURE_VALUE = 21, /* whole number, bits of a double or name id, as the kind says */
    ROW_FLAGS = 22,        /* of a run, of a lock's row: enum lock_flag */
};

/* A block of source lines: a row is a file. */
#define SOURCE_BLOCK_TEXT (1u << 20) /* bytes of lines in one at most */
enum source_column {
    SOURCE_FILE_LENGTH = 1, /* of the path, as names have it */
    SOURCE_FILE_STATE = 2,  /* enum trace_source_state */
    SOURCE_FILE_LINES = 3,  /* how many the whole file has */
    SOURCE_FILE_PARTS = 4,  /* stretches of it that are here */
    SOURCE_PATHS = 5,
    SOURCE_PART_FIRST = 6, /* one value a stretch: its first line, from 1 on */
    SOURCE_PART_LENGTH = 7,
    SOURCE_TEXT = 8, /* each line ended by \n */
};

enum lock_flag { LOCK_SHARED = 1, LOCK_OPEN = 2 };

enum checkpoint_column {
    CHECKPOINT_INFO = 1,
    CHECKPOINT_TYPE = 2,
    CHECKPOINT_TRACK = 3,
    CHECKPOINT_CLOCK = 4,
    CHECKPOINT_COUNT = 5,
    CHECKPOINT_OFFSET = 6,
    CHECKPOINT_SIZE = 7,
    CHECKPOINT_FIRST = 8,
    CHECKPOINT_LAST = 9,
    CHECKPOINT_MIN_START = 10,
    CHECKPOINT_PREFIX = 11,
    CHECKPOINT_LEVEL = 12,
    CHECKPOINT_SEQUENCE = 13,
    CHECKPOINT_TRACK_ID = 16, /* zones of each track in the blocks listed */
    CHECKPOINT_TRACK_ZONES = 17,
    CHECKPOINT_TRACK_DEPTHS = 18,
    CHECKPOINT_OPEN_TRACK = 24,
    CHECKPOINT_OPEN_DEPTH = 25,
    CHECKPOINT_OPEN_START = 26,
    CHECKPOINT_OPEN_NAME = 27,
    CHECKPOINT_OPEN_SEEN = 28, /* after the start; 0 = not known, else plus one */
    CHECKPOINT_OPEN_CHILD = 29,
};
enum checkpoint_info {
    CHECKPOINT_PREVIOUS, /* offset in the segment; 0 = none */
    CHECKPOINT_IS_FULL,  /* lists every block of the segment: no need to go back */
    CHECKPOINT_INFO_VALUES
};

/* Far after the end of any file: who follows a growing trace holds a lock for reading on this byte (trace_follow). */
#define FOLLOW_OFFSET ((off_t)1 << 62)

#endif
