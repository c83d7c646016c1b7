/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/device/log.h"

#include <string.h>

#include "base/keyed_text.h"
#include "base/slice.h"

#define ABSENT 255u
#define FIELDS_MAX 24u

enum field {
    FIELD_DEVICE,
    FIELD_X,
    FIELD_Y,
    FIELD_PROCESSOR,
    FIELD_TIMER,
    FIELD_TIME,
    FIELD_DATA,
    FIELD_RUN,
    FIELD_TRACE,
    FIELD_COUNTER,
    FIELD_ZONE,
    FIELD_TYPE,
    FIELDS
};

/* What the fields are called, the newest name first. */
static const char *const field_names[FIELDS][3] = {
    [FIELD_DEVICE] = {"PCIe slot", "device id"},
    [FIELD_X] = {"core_x"},
    [FIELD_Y] = {"core_y"},
    [FIELD_PROCESSOR] = {"RISC processor type"},
    [FIELD_TIMER] = {"timer_id"},
    [FIELD_TIME] = {"time[cycles since reset]"},
    [FIELD_DATA] = {"data", "stat value"},
    [FIELD_RUN] = {"run host ID", "Run ID", "run ID"},
    [FIELD_TRACE] = {"trace id"},
    [FIELD_COUNTER] = {"trace id counter"},
    [FIELD_ZONE] = {"zone name"},
    [FIELD_TYPE] = {"type", "zone phase"},
};

static struct slice take_line(struct tt_log_reader *reader)
{
    const char *begin = reader->at, *stop = memchr(begin, '\n', (size_t)(reader->end - begin));
    reader->at = stop ? stop + 1 : reader->end;
    reader->line++;
    return slice_from(begin, (size_t)((stop ? stop : reader->end) - begin));
}

bool tt_log_is_log(const char *data, size_t length)
{
    struct slice text = {data, length};
    return length > 0 && (slice_begins(text, "ARCH:") || slice_begins(text, "Chip clock is at"));
}

/* "KEY: VALUE" among items separated by commas. */
static struct slice header_item(struct slice line, const char *key)
{
    const char *at = line.data, *end = line.length ? line.data + line.length : line.data;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct slice item = slice_trim(slice_from(at, (size_t)((comma ? comma : end) - at)));
        if (slice_begins(item, key)) {
            size_t skip = strlen(key);
            return slice_trim(slice_from(item.data + skip, item.length - skip));
        }
        at = comma ? comma + 1 : end;
    }
    return slice_from(NULL, 0);
}

static void read_first_line(struct tt_log_reader *reader, struct slice line)
{
    struct tt_log_header *header = &reader->header;
    if (slice_begins(line, "Chip clock is at")) {
        *header =
            (struct tt_log_header){.arch = slice_from("grayskull", 9), .frequency_mhz = 1200, .is_log = true};
        return;
    }
    header->is_log = slice_begins(line, "ARCH:");
    header->arch = header_item(line, "ARCH:");
    slice_unsigned32(header_item(line, "CHIP_FREQ[MHz]:"), &header->frequency_mhz);
    slice_unsigned32(header_item(line, "Max Compute Cores:"), &header->max_compute_cores);
}

static void read_columns(struct tt_log_reader *reader, struct slice line)
{
    const char *at = line.data, *end = line.length ? line.data + line.length : line.data;
    unsigned best[FIELDS];
    memset(reader->positions, ABSENT, sizeof reader->positions);
    for (unsigned f = 0; f < FIELDS; f++)
        best[f] = 3;
    for (unsigned position = 0; at < end && position < FIELDS_MAX; position++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct slice name = slice_trim(slice_from(at, (size_t)((comma ? comma : end) - at)));
        for (unsigned f = 0; f < FIELDS; f++) {
            for (unsigned n = 0; n < best[f] && field_names[f][n]; n++) {
                if (slice_is(name, field_names[f][n])) {
                    reader->positions[f] = (uint8_t)position;
                    best[f] = n;
                }
            }
        }
        at = comma ? comma + 1 : end;
    }
    for (unsigned f = 0; f < FIELDS; f++) {
        if (reader->positions[f] != ABSENT && reader->positions[f] >= reader->field_count)
            reader->field_count = (uint8_t)(reader->positions[f] + 1);
    }
}

void tt_log_reader_init(struct tt_log_reader *reader, const char *data, size_t length)
{
    *reader = (struct tt_log_reader){.at = data, .end = length ? data + length : data};
    memset(reader->positions, ABSENT, sizeof reader->positions);
    if (length == 0)
        return;
    read_first_line(reader, slice_trim(take_line(reader)));
    if (reader->at < reader->end)
        read_columns(reader, slice_trim(take_line(reader)));
}

static inline bool digits(struct slice cell, uint64_t *value)
{
    uint64_t sum = 0;
    if (cell.length == 0 || cell.length > 19)
        return slice_unsigned(cell, value);
    for (size_t i = 0; i < cell.length; i++) {
        unsigned digit = (unsigned)(unsigned char)cell.data[i] - '0';
        if (digit > 9)
            return false;
        sum = sum * 10 + digit;
    }
    *value = sum;
    return true;
}

static inline bool digits32(struct slice cell, uint32_t *value)
{
    uint64_t wide = 0;
    if (!digits(cell, &wide) || wide >= UINT32_MAX)
        return false;
    *value = (uint32_t)wide;
    return true;
}

static enum tt_marker_type type_of(struct slice text)
{
    if (slice_is(text, "ZONE_START") || slice_is(text, "begin"))
        return TT_MARKER_START;
    if (slice_is(text, "ZONE_END") || slice_is(text, "end"))
        return TT_MARKER_END;
    if (slice_is(text, "ZONE_TOTAL") || slice_is(text, "sum"))
        return TT_MARKER_TOTAL;
    if (slice_begins(text, "TS_DATA"))
        return TT_MARKER_DATA;
    return slice_is(text, "TS_EVENT") ? TT_MARKER_EVENT : TT_MARKER_OTHER;
}

static struct slice field_of(const struct tt_log_reader *reader, const struct slice *fields, enum field field)
{
    uint8_t position = reader->positions[field];
    return position == ABSENT ? slice_from(NULL, 0) : fields[position];
}

/* Splits a line into the fields that are read and the rest; false when it has too few. */
static bool split(const struct tt_log_reader *reader, const char *at, const char *end, struct slice *fields,
                  struct slice *rest)
{
    for (unsigned i = 0; i < reader->field_count; i++) {
        const char *begin = at;
        while (at < end && *at != ',')
            at++;
        fields[i] = slice_from(begin, (size_t)(at - begin));
        if (at == end) {
            *rest = slice_from(end, 0);
            return i + 1 == reader->field_count;
        }
        at++;
    }
    *rest = slice_from(at, (size_t)(end - at));
    return true;
}

static bool parse(const struct tt_log_reader *reader, struct slice line, struct tt_marker *marker)
{
    struct slice fields[FIELDS_MAX];
    uint64_t number = 0;
    if (!split(reader, line.data, line.data + line.length, fields, &marker->rest))
        return false;
    if (!digits32(field_of(reader, fields, FIELD_DEVICE), &marker->device) ||
        !digits32(field_of(reader, fields, FIELD_X), &marker->x) ||
        !digits32(field_of(reader, fields, FIELD_Y), &marker->y) ||
        !digits(field_of(reader, fields, FIELD_TIME), &marker->time))
        return false;
    if (!digits(field_of(reader, fields, FIELD_TIMER), &marker->timer))
        marker->timer = 1;
    if (!digits(field_of(reader, fields, FIELD_DATA), &marker->data))
        marker->data = 0;
    if (!digits(field_of(reader, fields, FIELD_RUN), &marker->run))
        marker->run = 0;
    marker->trace =
        digits(field_of(reader, fields, FIELD_TRACE), &number) && number < UINT32_MAX ? (int64_t)number : -1;
    marker->counter = digits(field_of(reader, fields, FIELD_COUNTER), &number) && number < UINT32_MAX
                          ? (int64_t)number
                          : -1;
    marker->processor = field_of(reader, fields, FIELD_PROCESSOR);
    marker->zone = field_of(reader, fields, FIELD_ZONE);
    marker->type_text = field_of(reader, fields, FIELD_TYPE);
    marker->type = type_of(marker->type_text);
    return true;
}

bool tt_log_next(struct tt_log_reader *reader, struct tt_marker *marker)
{
    while (reader->at < reader->end) {
        struct slice line = take_line(reader);
        if (line.length > 0 && line.data[line.length - 1] == '\r')
            line.length--;
        if (line.length == 0)
            continue;
        if (reader->field_count > 0 && parse(reader, line, marker))
            return true;
        if (reader->bad_lines++ == 0)
            reader->first_bad_line = reader->line;
    }
    return false;
}

struct tt_marker_rest tt_marker_rest(const struct tt_marker *marker)
{
    struct tt_marker_rest out = {0};
    struct slice rest = marker->rest;
    const char *first = rest.length ? memchr(rest.data, ',', rest.length) : NULL;
    const char *last = rest.length ? memrchr(rest.data, ',', rest.length) : NULL;
    if (!first) {
        out.line = rest;
        return out;
    }
    out.line = slice_from(rest.data, (size_t)(first - rest.data));
    if (first == last) { /* no meta data in older logs */
        out.file = slice_from(first + 1, (size_t)(rest.data + rest.length - first - 1));
        return out;
    }
    out.file = slice_from(first + 1, (size_t)(last - first - 1));
    out.meta = slice_from(last + 1, (size_t)(rest.data + rest.length - last - 1));
    return out;
}

bool tt_meta_value(struct slice meta, const char *key, struct slice *value)
{
    size_t length = strlen(key);
    const char *at = meta.data, *end = meta.length ? meta.data + meta.length : meta.data;
    while (meta.length > 0 && (at = memmem(at, (size_t)(end - at), key, length))) {
        const char *before = at - 1, *behind = at + length;
        at = behind;
        if (before < meta.data || behind >= end || (*before != '"' && *before != '\'') || *behind != *before)
            continue;
        behind++;
        while (behind < end && (*behind == ' ' || *behind == ':'))
            behind++;
        const char *stop = behind;
        while (stop < end && *stop != ';' && *stop != '}')
            stop++;
        struct slice found = slice_trim(slice_from(behind, (size_t)(stop - behind)));
        if (found.length >= 2 && (found.data[0] == '"' || found.data[0] == '\'') &&
            found.data[found.length - 1] == found.data[0])
            found = slice_from(found.data + 1, found.length - 2);
        *value = found;
        return true;
    }
    return false;
}
