/* SPDX-License-Identifier: Apache-2.0 */
#include "session/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_PREFIX "opscope-"

const char *session_folder_candidate(unsigned index)
{
    const char *value;
    switch (index) {
    case 0:
        value = getenv("OPSCOPE_DIR");
        return value ? value : "";
    case 1:
        return "/dev/shm";
    case 2:
        value = getenv("XDG_RUNTIME_DIR");
        return value ? value : "";
    case 3:
        return "/tmp";
    default:
        return NULL;
    }
}

static int make_folder(char *path, size_t size, struct error *err)
{
    const char *base;
    int last = ENOENT;
    for (unsigned i = 0; (base = session_folder_candidate(i)); i++) {
        if (!*base)
            continue;
        int n = snprintf(path, size, "%s/" NAME_PREFIX "%u-XXXXXX", base, (unsigned)getuid());
        if (n > 0 && (size_t)n < size && mkdtemp(path))
            return 0;
        last = n > 0 && (size_t)n < size ? errno : ENAMETOOLONG;
        if (i == 0) /* asked for by name: do not silently use another */
            return error_set_errno(err, last, "cannot make a session folder in %s (OPSCOPE_DIR)", base);
    }
    return error_set_errno(err, last, "cannot make a session folder in /dev/shm or /tmp; set OPSCOPE_DIR");
}

static int write_control(struct session_folder *folder, struct error *err)
{
    struct session_control *c = &folder->control;
    c->magic = SESSION_CONTROL_MAGIC;
    c->version = SESSION_CONTROL_VERSION;
    c->min_recorder = SESSION_VERSION;
    c->collector_pid = (uint64_t)getpid();
    c->output_length = (uint32_t)strlen(folder->output);
    c->command_length = (uint32_t)strlen(folder->command);
    folder->control_fd =
        openat(folder->fd, SESSION_CONTROL_FILE, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (folder->control_fd < 0)
        return error_set_errno(err, errno, "%s/" SESSION_CONTROL_FILE, folder->path);
    /* Before there is anything in it: whoever looks for sessions locks only what it could read. */
    flock(folder->control_fd, LOCK_EX | LOCK_NB);
    char text[sizeof *c + sizeof folder->output + sizeof folder->command];
    memcpy(text, c, sizeof *c);
    memcpy(text + sizeof *c, folder->output, c->output_length);
    memcpy(text + sizeof *c + c->output_length, folder->command, c->command_length);
    size_t length = sizeof *c + c->output_length + c->command_length;
    if (write(folder->control_fd, text, length) != (ssize_t)length)
        return error_set_errno(err, errno ? errno : ENOSPC, "%s/" SESSION_CONTROL_FILE, folder->path);
    void *memory = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED, folder->control_fd, 0);
    folder->ledger = memory != MAP_FAILED ? memory : NULL;
    return 0;
}

void session_folder_make_spares(const struct session_folder *folder)
{
    for (unsigned i = 0; i < SESSION_SPARES; i++) {
        char name[32];
        snprintf(name, sizeof name, SESSION_SPARE_PREFIX "%u", i);
        int fd = openat(folder->fd, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        if (fd >= 0)
            close(fd);
    }
}

/* A file of its own: the layout of the control file stays. */
void session_folder_leave_sources_out(const struct session_folder *folder)
{
    int fd = openat(folder->fd, SESSION_NO_SOURCE, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

bool session_folder_leaves_sources_out(const struct session_folder *folder)
{
    return faccessat(folder->fd, SESSION_NO_SOURCE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int session_folder_create(struct session_folder *folder, struct error *err)
{
    folder->fd = folder->control_fd = -1;
    folder->ledger = NULL;
    int status = make_folder(folder->path, sizeof folder->path, err);
    if (status)
        return status;
    folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    status = folder->fd < 0 ? error_set_errno(err, errno, "%s", folder->path) : write_control(folder, err);
    if (status) {
        session_folder_close(folder);
        session_folder_remove(folder->path, NULL);
        return status;
    }
    session_folder_make_spares(folder);
    return 0;
}

static int read_control(struct session_folder *folder, struct error *err)
{
    struct session_control *c = &folder->control;
    if (pread(folder->control_fd, c, sizeof *c, 0) != (ssize_t)sizeof *c || c->magic != SESSION_CONTROL_MAGIC)
        return error_set(err, EINVAL, "%s is not a session folder: its control file is damaged",
                         folder->path);
    if (c->version != SESSION_CONTROL_VERSION)
        return error_set(err, EINVAL,
                         "%s was made by another version of opscope (session layout %u, ours is %u)",
                         folder->path, c->version, SESSION_CONTROL_VERSION);
    if (c->output_length >= sizeof folder->output || c->command_length >= sizeof folder->command ||
        pread(folder->control_fd, folder->output, c->output_length, sizeof *c) != (ssize_t)c->output_length ||
        pread(folder->control_fd, folder->command, c->command_length,
              (off_t)(sizeof *c + c->output_length)) != (ssize_t)c->command_length)
        return error_set(err, EINVAL, "%s: the control file is cut short", folder->path);
    folder->output[c->output_length] = folder->command[c->command_length] = '\0';
    return 0;
}

int session_folder_open(struct session_folder *folder, const char *path, bool *is_alive, struct error *err)
{
    *folder = (struct session_folder){.fd = -1, .control_fd = -1};
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length >= sizeof folder->path)
        return error_set(err, ENAMETOOLONG, "%.60s...: path too long", path);
    memcpy(folder->path, path, length);
    folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder->fd < 0)
        return error_set_errno(err, errno, "%s", folder->path);
    /* Whoever made the folder chose the path that its control file names: nobody else may act on that. */
    struct stat about;
    if (fstat(folder->fd, &about) != 0 || about.st_uid != geteuid()) {
        session_folder_close(folder);
        return error_set(err, EPERM, "%s belongs to another user", folder->path);
    }
    folder->control_fd =
        openat(folder->fd, SESSION_CONTROL_FILE, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int status =
        folder->control_fd < 0
            ? error_set(err, EINVAL, "%s is not a session folder: it has no control file", folder->path)
            : read_control(folder, err);
    if (status) {
        session_folder_close(folder);
        return status;
    }
    *is_alive = flock(folder->control_fd, LOCK_EX | LOCK_NB) != 0;
    return 0;
}

#define PAUSE_TRIES 2500u /* of 2 ms */

int session_folder_pause(const struct session_folder *folder, bool is_paused, uint32_t *unreachable,
                         struct error *err)
{
    const size_t whole = offsetof(struct session_control, capture);
    struct session_control *control =
        mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, folder->control_fd, 0);
    if (control == MAP_FAILED)
        return error_set_errno(err, errno, "%s/" SESSION_CONTROL_FILE, folder->path);
    uint64_t last = __atomic_load_n(&control->pause_request, __ATOMIC_RELAXED), request;
    do
        request = ((last >> 1) + 1) << 1 | is_paused;
    while (!__atomic_compare_exchange_n(&control->pause_request, &last, request, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
    bool is_done = false;
    for (unsigned i = 0; i < PAUSE_TRIES && !is_done; i++) {
        is_done = __atomic_load_n(&control->pause_done, __ATOMIC_ACQUIRE) >> 1 >= request >> 1;
        if (!is_done)
            usleep(2000);
    }
    *unreachable = control->unreachable;
    munmap(control, whole);
    return is_done ? 0
                   : error_set(err, ETIMEDOUT, "%s: its collector does not answer (is it stopped?)",
                               folder->path);
}

void session_folder_close(struct session_folder *folder)
{
    if (folder->ledger)
        munmap(folder->ledger, sizeof *folder->ledger);
    folder->ledger = NULL;
    if (folder->control_fd >= 0)
        close(folder->control_fd);
    if (folder->fd >= 0)
        close(folder->fd);
    folder->fd = folder->control_fd = -1;
}

int session_folder_remove(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        return code == ENOENT ? 0 : error_set_errno(err, code, "%s", path);
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(fd, entry->d_name, 0) != 0 && errno == EISDIR)
            unlinkat(fd, entry->d_name, AT_REMOVEDIR); /* not ours, but an empty one must not keep the rest */
    }
    closedir(dir);
    return rmdir(path) == 0 || errno == ENOENT ? 0 : error_set_errno(err, errno, "%s", path);
}

void session_folder_variable(const struct session_folder *folder, char *out, size_t size)
{
    snprintf(out, size, "%s:%016" PRIx64, folder->path, folder->control.session_id);
}

void session_folder_each(session_folder_fn found, void *context)
{
    const char *base;
    char prefix[64];
    int prefix_length = snprintf(prefix, sizeof prefix, NAME_PREFIX "%u-", (unsigned)getuid());
    for (unsigned i = 0; (base = session_folder_candidate(i)); i++) {
        bool is_repeated = false;
        for (unsigned j = 0; j < i; j++)
            is_repeated |= strcmp(session_folder_candidate(j), base) == 0;
        DIR *dir = *base && !is_repeated ? opendir(base) : NULL;
        for (struct dirent *entry; dir && (entry = readdir(dir));) {
            char path[SESSION_PATH_BYTES];
            int n = snprintf(path, sizeof path, "%s/%s", base, entry->d_name);
            struct stat st;
            if (strncmp(entry->d_name, prefix, (size_t)prefix_length) == 0 && n > 0 &&
                (size_t)n < sizeof path && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
                st.st_uid == getuid())
                found(context, path);
        }
        if (dir)
            closedir(dir);
        if (i == 0 && *base)
            return; /* who chose a folder for sessions has them there alone */
    }
}
