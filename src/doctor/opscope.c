/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of opscope itself: what was built, the recorder library, session folders. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/own_library.h"
#include "build_config.h"
#include "doctor/doctor.h"
#include "present/format.h"
#include "session/folder.h"

#define SMALL_FOLDER ((uint64_t)128 << 20)

static void *open_recorder(char *path, size_t size)
{
    void *library =
        own_library_find(OWN_LIBRARY_RECORDER, path, size) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library)
        return library;
    snprintf(path, size, "%s", OWN_LIBRARY_RECORDER);
    return dlopen(OWN_LIBRARY_RECORDER, RTLD_NOW | RTLD_LOCAL);
}

static void check_recorder(struct doctor *doctor)
{
    char path[PATH_MAX + 64];
    void *library = open_recorder(path, sizeof path);
    if (!library) {
        doctor_add(
            doctor, "recorder library", DOCTOR_WARN,
            "Programs that link it need it: make install, or set LD_LIBRARY_PATH to where " OWN_LIBRARY_RECORDER
            " is. Statically linked programs do not.",
            OWN_LIBRARY_RECORDER " not found");
        return;
    }
    const char *(*version)(void) = NULL;
    void *symbol = dlsym(library, "opscope_recorder_version");
    memcpy(&version, &symbol, sizeof version); /* ISO C has no cast from an object to a function pointer */
    doctor_add(doctor, "recorder library", version ? DOCTOR_OK : DOCTOR_WARN,
               version ? NULL : "Another library has this name; the one of opscope is not found.", "%s (%s)",
               path, version ? version() : "not opscope's");
    dlclose(library);
}

void doctor_check_build(struct doctor *doctor)
{
    doctor_add(doctor, "opscope", DOCTOR_INFO, NULL, "%s, %s build", OPSCOPE_VERSION,
               *OPSCOPE_BUILD_TYPE ? OPSCOPE_BUILD_TYPE : "plain");
    doctor_add(doctor, "built with", DOCTOR_INFO, NULL, "%s", OPSCOPE_BUILD_FEATURES);
    if (*OPSCOPE_BUILD_MISSING)
        doctor_add(doctor, "built without", DOCTOR_INFO, NULL, "%s", OPSCOPE_BUILD_MISSING);
    check_recorder(doctor);
}

static const char *file_system_name(unsigned long type, bool *is_memory)
{
    static const struct {
        unsigned long type;
        const char *name;
    } types[] = {
        {0x01021994, "tmpfs"}, {0x858458f6, "ramfs"}, {0xef53, "ext4"},        {0x58465342, "xfs"},
        {0x9123683e, "btrfs"}, {0x2fc12fc1, "zfs"},   {0x794c7630, "overlay"}, {0x6969, "nfs"},
        {0xff534d42, "cifs"},  {0x65735546, "fuse"},  {0x01021997, "9p"},      {0x4d44, "vfat"},
    };
    *is_memory = type == 0x01021994 || type == 0x858458f6;
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (types[i].type == type)
            return types[i].name;
    }
    return "other file system";
}

/* One candidate folder. Returns whether a session could be made there. */
static bool check_folder(struct doctor *doctor, const char *path, bool is_chosen)
{
    struct statfs fs;
    struct number_text free_text, size_text;
    bool is_memory = false;
    if (access(path, W_OK | X_OK) != 0 || statfs(path, &fs) != 0) {
        doctor_add(doctor, "session folder", DOCTOR_INFO, NULL, "%s: %s", path, strerror(errno));
        return false;
    }
    const char *kind = file_system_name((unsigned long)fs.f_type, &is_memory);
    uint64_t block = (uint64_t)fs.f_bsize, free_bytes = (uint64_t)fs.f_bavail * block;
    bool is_small = free_bytes < SMALL_FOLDER;
    enum doctor_status status = DOCTOR_INFO;
    const char *advice = NULL;
    if (is_chosen) {
        status = is_memory && !is_small ? DOCTOR_OK : DOCTOR_WARN;
        if (!is_memory)
            advice =
                "It is on a disk, which will be written to while recording. Set OPSCOPE_DIR to a folder on a "
                "tmpfs.";
        else if (is_small)
            advice =
                "There is little room: a process takes up to 32 MiB when it records at full speed. Make it "
                "larger (docker run --shm-size), or set OPSCOPE_DIR. What finds no room is counted as lost.";
    }
    doctor_add(doctor, "session folder", status, advice, "%s: %s, %s of %s free%s", path, kind,
               format_bytes(&free_text, free_bytes), format_bytes(&size_text, (uint64_t)fs.f_blocks * block),
               is_chosen ? ", will be used" : "");
    return true;
}

struct session_count {
    unsigned running, left_behind, unreadable;
};

static void count_session(void *context, const char *path)
{
    struct session_count *count = context;
    struct session_folder folder;
    bool is_alive = false;
    if (session_folder_open(&folder, path, &is_alive, NULL) != 0) {
        count->unreadable++;
        return;
    }
    count->running += is_alive;
    count->left_behind += !is_alive;
    session_folder_close(&folder);
}

void doctor_check_sessions(struct doctor *doctor)
{
    const char *path;
    bool is_found = false, is_named = *session_folder_candidate(0) != '\0';
    for (unsigned i = 0; (path = session_folder_candidate(i)); i++) {
        /* A folder asked for by OPSCOPE_DIR is used or nothing is. */
        if (*path && check_folder(doctor, path, !is_found && (i == 0 || !is_named)))
            is_found = is_found || i == 0 || !is_named;
    }
    if (!is_found)
        doctor_add(doctor, "session folder", DOCTOR_FAIL,
                   is_named ? "OPSCOPE_DIR names a folder that cannot be written to."
                            : "No folder for sessions can be written to; set OPSCOPE_DIR to one.",
                   "none");
    struct session_count count = {0};
    session_folder_each(count_session, &count);
    bool is_dirty = count.left_behind + count.unreadable > 0;
    doctor_add(doctor, "sessions", is_dirty ? DOCTOR_WARN : DOCTOR_OK,
               is_dirty
                   ? "opscope recover --list names them; recover SESSION finishes its trace, recover --clean "
                     "removes them all."
                   : NULL,
               "%u running, %u left behind%s", count.running, count.left_behind,
               count.unreadable ? ", some cannot be read" : "");
}
