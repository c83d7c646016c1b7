/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/device_log.h"

#include <string.h>

#include "import/tenstorrent/parse.h"

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

static struct op_cell take_line(struct tt_log_reader *reader)
{
    const char *begin = reader->at, *stop = memchr(begin, '\n', (size_t)(reader->end - begin));
    reader->at = stop ? stop + 1 : reader->end;
    reader->line++;
    return cell_of(begin, (size_t)((stop ? stop : reader->end) - begin));
}

bool tt_log_is_log(const char *data, size_t length)
{
    struct op_cell text = {data, length};
    return length > 0 && (cell_begins(text, "ARCH:") || cell_begins(text, "Chip clock is at"));
}

/* "KEY: VALUE" among items separated by commas. */
static struct op_cell header_item(struct op_cell line, const char *key)
{
    const char *at = line.data, *end = line.length ? line.data + line.length : line.data;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct op_cell item = cell_trim(cell_of(at, (size_t)((comma ? comma : end) - at)));
        if (cell_begins(item, key)) {
            size_t skip = strlen(key);
            return cell_trim(cell_of(item.data + skip, item.length - skip));
        }
        at = comma ? comma + 1 : end;
    }
    return cell_of(NULL, 0);
}

static void read_first_line(struct tt_log_reader *reader, struct op_cell line)
{
    struct tt_log_header *header = &reader->header;
    if (cell_begins(line, "Chip clock is at")) {
        *header =
            (struct tt_log_header){.arch = cell_of("grayskull", 9), .frequency_mhz = 1200, .is_log = true};
        return;
    }
    header->is_log = cell_begins(line, "ARCH:");
    header->arch = header_item(line, "ARCH:");
    cell_unsigned32(header_item(line, "CHIP_FREQ[MHz]:"), &header->frequency_mhz);
    cell_unsigned32(header_item(line, "Max Compute Cores:"), &header->max_compute_cores);
}

static void read_columns(struct tt_log_reader *reader, struct op_cell line)
{
    const char *at = line.data, *end = line.length ? line.data + line.length : line.data;
    unsigned best[FIELDS];
    memset(reader->positions, ABSENT, sizeof reader->positions);
    for (unsigned f = 0; f < FIELDS; f++)
        best[f] = 3;
    for (unsigned position = 0; at < end && position < FIELDS_MAX; position++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct op_cell name = cell_trim(cell_of(at, (size_t)((comma ? comma : end) - at)));
        for (unsigned f = 0; f < FIELDS; f++) {
            for (unsigned n = 0; n < best[f] && field_names[f][n]; n++) {
                if (cell_is(name, field_names[f][n])) {
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
    read_first_line(reader, cell_trim(take_line(reader)));
    if (reader->at < reader->end)
        read_columns(reader, cell_trim(take_line(reader)));
}

static inline bool digits(struct op_cell cell, uint64_t *value)
{
    uint64_t sum = 0;
    if (cell.length == 0 || cell.length > 19)
        return cell_unsigned(cell, value);
    for (size_t i = 0; i < cell.length; i++) {
        unsigned digit = (unsigned)(unsigned char)cell.data[i] - '0';
        if (digit > 9)
            return false;
        sum = sum * 10 + digit;
    }
    *value = sum;
    return true;
}

static inline bool digits32(struct op_cell cell, uint32_t *value)
{
    uint64_t wide = 0;
    if (!digits(cell, &wide) || wide >= UINT32_MAX)
        return false;
    *value = (uint32_t)wide;
    return true;
}

static enum tt_marker_type type_of(struct op_cell text)
{
    if (cell_is(text, "ZONE_START") || cell_is(text, "begin"))
        return TT_MARKER_START;
    if (cell_is(text, "ZONE_END") || cell_is(text, "end"))
        return TT_MARKER_END;
    if (cell_is(text, "ZONE_TOTAL") || cell_is(text, "sum"))
        return TT_MARKER_TOTAL;
    if (cell_begins(text, "TS_DATA"))
        return TT_MARKER_DATA;
    return cell_is(text, "TS_EVENT") ? TT_MARKER_EVENT : TT_MARKER_OTHER;
}

static struct op_cell field_of(const struct tt_log_reader *reader, const struct op_cell *fields,
                               enum field field)
{
    uint8_t position = reader->positions[field];
    return position == ABSENT ? cell_of(NULL, 0) : fields[position];
}

/* Splits a line into the fields that are read and the rest; false when it has too few. */
static bool split(const struct tt_log_reader *reader, const char *at, const char *end, struct op_cell *fields,
                  struct op_cell *rest)
{
    for (unsigned i = 0; i < reader->field_count; i++) {
        const char *begin = at;
        while (at < end && *at != ',')
            at++;
        fields[i] = cell_of(begin, (size_t)(at - begin));
        if (at == end) {
            *rest = cell_of(end, 0);
            return i + 1 == reader->field_count;
        }
        at++;
    }
    *rest = cell_of(at, (size_t)(end - at));
    return true;
}

static bool parse(const struct tt_log_reader *reader, struct op_cell line, struct tt_marker *marker)
{
    struct op_cell fields[FIELDS_MAX];
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
        struct op_cell line = take_line(reader);
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
    struct op_cell rest = marker->rest;
    const char *first = rest.length ? memchr(rest.data, ',', rest.length) : NULL;
    const char *last = rest.length ? memrchr(rest.data, ',', rest.length) : NULL;
    if (!first) {
        out.line = rest;
        return out;
    }
    out.line = cell_of(rest.data, (size_t)(first - rest.data));
    if (first == last) { /* no meta data in older logs */
        out.file = cell_of(first + 1, (size_t)(rest.data + rest.length - first - 1));
        return out;
    }
    out.file = cell_of(first + 1, (size_t)(last - first - 1));
    out.meta = cell_of(last + 1, (size_t)(rest.data + rest.length - last - 1));
    return out;
}

bool tt_meta_value(struct op_cell meta, const char *key, struct op_cell *value)
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
        struct op_cell found = cell_trim(cell_of(behind, (size_t)(stop - behind)));
        if (found.length >= 2 && (found.data[0] == '"' || found.data[0] == '\'') &&
            found.data[found.length - 1] == found.data[0])
            found = cell_of(found.data + 1, found.length - 2);
        *value = found;
        return true;
    }
    return false;
}
