/* SPDX-License-Identifier: Apache-2.0 */
/* From each process to its children, as the kernel lists them for each thread. One that lived and died between two
 * looks is not seen: what is said is what was seen. */
#include "collect/process/strangers.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define FIRST_PAUSE_NS UINT64_C(5000000)
#define LONGEST_PAUSE_NS UINT64_C(200000000)
#define SHARE 100u /* at most one part in this many of a CPU is spent with looking */
#define MOST_PROCESSES 4096u
#define MOST_DEPTH 64u

enum seen { SEEN_OWN, SEEN_OTHER_USER, SEEN_ELSEWHERE, SEEN_WITH_RECORDER };

/* Of the first two lines "Uid:" and "Gid:" of its status: a setuid program has another effective user, and ignores the
 * session for its own safety. */
static bool is_other_user(int64_t pid)
{
    char path[64], line[256];
    unsigned real = 0, effective = 0;
    bool is_known = false;
    snprintf(path, sizeof path, "/proc/%lld/status", (long long)pid);
    FILE *file = fopen(path, "re");
    while (file && !is_known && fgets(line, sizeof line, file))
        is_known = sscanf(line, "Uid: %u %u", &real, &effective) == 2;
    if (file)
        fclose(file);
    return is_known && (real != effective || (effective != geteuid() && effective != 0));
}

/* Under its own root the session's folder is not there, or is another. What we may not look at is taken to be well. */
static bool is_elsewhere(const struct strangers *s, int64_t pid)
{
    char path[4200];
    struct stat ours, theirs;
    snprintf(path, sizeof path, "/proc/%lld/root%s", (long long)pid, s->folder);
    if (stat(s->folder, &ours) != 0)
        return false;
    if (stat(path, &theirs) == 0)
        return theirs.st_ino != ours.st_ino || theirs.st_dev != ours.st_dev;
    int missing = errno;
    snprintf(path, sizeof path, "/proc/%lld/root/", (long long)pid); /* or the process has ended */
    return missing == ENOENT && stat(path, &theirs) == 0;
}

enum recorder { NO_RECORDER, HAS_RECORDER, HAS_JOINED };

/* One that has joined before it became another user's goes on being recorded. */
static enum recorder find_recorder(const struct strangers *s, int64_t pid)
{
    char path[64], line[4400];
    enum recorder found = NO_RECORDER;
    snprintf(path, sizeof path, "/proc/%lld/maps", (long long)pid);
    FILE *file = fopen(path, "re");
    while (file && found != HAS_JOINED && fgets(line, sizeof line, file)) {
        if (strstr(line, s->folder))
            found = HAS_JOINED;
        else if (strstr(line, "/libopscope.so"))
            found = HAS_RECORDER;
    }
    if (file)
        fclose(file);
    return found;
}

static void count(struct strangers *s, enum seen what, uint32_t by)
{
    if (what == SEEN_OTHER_USER)
        s->counts.of_other_users += by;
    else if (what == SEEN_ELSEWHERE)
        s->counts.elsewhere += by;
}

/* A process changes its user, its root and its program while it lives: the last look counts, until it was seen to be a
 * stranger with the recorder. */
static void judge(struct strangers *s, int64_t pid)
{
    uint32_t was = map_get(&s->known, (uint64_t)pid);
    bool is_new = was == MAP_NONE;
    if (was == SEEN_WITH_RECORDER || (is_new && s->known.count >= MOST_PROCESSES))
        return;
    bool is_other = is_other_user(pid);
    enum seen now = is_other ? SEEN_OTHER_USER : is_elsewhere(s, pid) ? SEEN_ELSEWHERE : SEEN_OWN;
    enum recorder recorder = now == SEEN_OWN ? NO_RECORDER : find_recorder(s, pid);
    if (recorder == HAS_JOINED)
        now = SEEN_OWN;
    if (now == SEEN_OWN && !is_new && was != SEEN_OWN)
        return; /* it has ended since: what it was counts */
    if (is_new || was == SEEN_OWN)
        count(s, now, 1);
    if (now != SEEN_OWN && recorder == HAS_RECORDER) {
        s->counts.with_recorder++;
        s->has_recorder(s->context, pid, is_other);
        now = SEEN_WITH_RECORDER;
    }
    map_put(&s->known, (uint64_t)pid, now);
}

static void visit(struct strangers *s, int64_t pid, unsigned depth);

static void visit_children(struct strangers *s, const char *path, unsigned depth)
{
    long long child;
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%lld", &child) == 1)
        visit(s, child, depth + 1);
    if (file)
        fclose(file);
}

static void visit(struct strangers *s, int64_t pid, unsigned depth)
{
    char path[600];
    snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
    DIR *threads = depth < MOST_DEPTH ? opendir(path) : NULL;
    judge(s, pid);
    for (const struct dirent *thread; threads && (thread = readdir(threads));) {
        if (thread->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%lld/task/%s/children", (long long)pid, thread->d_name);
        visit_children(s, path, depth);
    }
    if (threads)
        closedir(threads);
}

void strangers_look(struct strangers *s, uint64_t now_ns)
{
    if (now_ns < s->next_ns)
        return;
    visit(s, s->root, 0);
    uint64_t took_ns = clock_raw_ns() - now_ns;
    s->pause_ns = s->pause_ns ? 2 * s->pause_ns : FIRST_PAUSE_NS;
    s->pause_ns = s->pause_ns < LONGEST_PAUSE_NS ? s->pause_ns : LONGEST_PAUSE_NS;
    s->next_ns = now_ns + took_ns + (SHARE * took_ns > s->pause_ns ? SHARE * took_ns : s->pause_ns);
}

void strangers_free(struct strangers *s)
{
    map_free(&s->known);
}
