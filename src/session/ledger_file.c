/* SPDX-License-Identifier: Apache-2.0 */
#include "session/ledger_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEDGER_FILE "ledger"
#define FIRST_ROWS 170u
#define MOST_ROWS ((size_t)1 << 24)

static bool grow(struct ledger_rows *rows, int folder_fd)
{
    size_t wanted = rows->capacity ? (size_t)rows->capacity * 2 : FIRST_ROWS;
    if (wanted > MOST_ROWS)
        return false;
    int fd = openat(folder_fd, LEDGER_FILE, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    size_t bytes = wanted * sizeof *rows->row;
    bool is_done = posix_fallocate(fd, 0, (off_t)bytes) == 0;
    void *memory = is_done ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    if (memory == MAP_FAILED)
        return false;
    if (rows->row)
        munmap(rows->row, (size_t)rows->capacity * sizeof *rows->row);
    rows->row = memory;
    rows->capacity = (uint32_t)wanted;
    return true;
}

uint32_t ledger_row_new(struct ledger_rows *rows, int folder_fd)
{
    if (rows->count == rows->capacity && !grow(rows, folder_fd))
        return 0;
    return ++rows->count;
}

bool ledger_rows_read(struct ledger_rows *rows, int folder_fd)
{
    struct stat st = {0};
    int fd = openat(folder_fd, LEDGER_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT; /* nothing was given back yet */
    bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    size_t count = is_file ? (size_t)st.st_size / sizeof *rows->row : MOST_ROWS + 1;
    rows->row = count <= MOST_ROWS ? calloc(count + 1, sizeof *rows->row) : NULL;
    ssize_t got = rows->row ? read(fd, rows->row, count * sizeof *rows->row) : -1;
    close(fd);
    rows->is_copy = true;
    rows->count = got > 0 ? (uint32_t)((size_t)got / sizeof *rows->row) : 0;
    return rows->row && rows->count == count;
}

void ledger_rows_close(struct ledger_rows *rows)
{
    if (rows->is_copy)
        free(rows->row);
    else if (rows->row)
        munmap(rows->row, (size_t)rows->capacity * sizeof *rows->row);
    *rows = (struct ledger_rows){0};
}
