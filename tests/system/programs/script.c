/* SPDX-License-Identifier: Apache-2.0 */
/* A program that does what its arguments say, one after the other, so that a test knows exactly what was
 * recorded and when, and nothing depends on time:
 *
 *     script zones=1000 open=outer say=ready read exit=7
 *
 * Counts are exact: every "zones" makes that many zones, named "work". Steps that need a second process or
 * thread wait for it, unless they say otherwise. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <opscope/opscope.h>

extern char **environ;

struct steps {
    char **next; /* ends with NULL */
};

struct pair {
    long count, zones;
};

static void fail(const char *what)
{
    fprintf(stderr, "script: %s: %s\n", what, strerror(errno));
    exit(99);
}

static void make_zones(long count)
{
    for (long i = 0; i < count; i++) {
        OPSCOPE_ZONE("work");
    }
}

static void make_nested(long depth)
{
    OPSCOPE_ZONE("nested");
    if (depth > 1)
        make_nested(depth - 1);
}

/* Zones that take a while, 20 us of this thread's own time each: the trace then has a shape. */
static void make_slow(long count)
{
    for (long i = 0; i < count; i++) {
        OPSCOPE_ZONE("slow");
        struct timespec begin, now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        do
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 20000);
    }
}

/* Zones that compress badly: names, order and depths as they come. */
static void make_noisy(long count)
{
    char names[256][16];
    uint64_t noise = UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 0; i < 256; i++)
        snprintf(names[i], sizeof names[i], "noisy %d", i);
    for (long i = 0; i < count; i++) {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        opscope_zone_begin(names[noise % 256]);
        for (volatile unsigned spin = (unsigned)(noise >> 32) % 64; spin; spin--)
            ;
        opscope_zone_end();
    }
}

/* A zone that says it is at FILE:LINE. */
static void make_place(const char *place)
{
    char *file = strdup(place), *colon = file ? strrchr(file, ':') : NULL;
    struct opscope_site *site = calloc(1, sizeof *site); /* both stay as long as the process */
    if (!colon || !site)
        fail("place");
    *colon = '\0';
    *site = (struct opscope_site){.struct_size = sizeof *site,
                                  .line = (uint32_t)strtoul(colon + 1, NULL, 10),
                                  .name = file,
                                  .function = "f",
                                  .file = file};
    if (opscope_zone_begin_(site))
        opscope_zone_end_();
}

static long number(const char *text)
{
    char *end;
    long value = text ? strtol(text, &end, 10) : 0;
    return value;
}

/* "200,1000" */
static struct pair pair_of(const char *text)
{
    const char *comma = text ? strchr(text, ',') : NULL;
    return (struct pair){number(text), comma ? number(comma + 1) : 0};
}

static bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void wait_for_file(const char *path)
{
    while (!file_exists(path))
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

static void touch(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        fail(path);
    close(fd);
}

static void read_line(void)
{
    char byte = 0;
    ssize_t n;
    while (((n = read(STDIN_FILENO, &byte, 1)) == 1 && byte != '\n') || (n < 0 && errno == EINTR))
        ;
}

static void say(const char *text)
{
    printf("%s\n", text ? text : "");
}

/* --- threads --- */

static void *thread_zones(void *argument)
{
    make_zones((long)(intptr_t)argument);
    return NULL;
}

static void threads(struct pair p, bool at_once)
{
    pthread_t *list = calloc((size_t)p.count + 1, sizeof *list);
    if (!list)
        fail("threads");
    for (long i = 0; i < p.count; i++) {
        if ((errno = pthread_create(&list[i], NULL, thread_zones, (void *)(intptr_t)p.zones)) != 0)
            fail("pthread_create");
        if (!at_once)
            pthread_join(list[i], NULL);
    }
    for (long i = 0; at_once && i < p.count; i++)
        pthread_join(list[i], NULL);
    free(list);
}

static pthread_barrier_t all_slept;

static void *sleeper(void *argument)
{
    make_zones((long)(intptr_t)argument);
    pthread_barrier_wait(&all_slept);
    while (pause() != 0)
        ;
    return NULL;
}

/* Threads that record a little and then sleep for as long as the process lives. */
static void sleepers(struct pair p)
{
    pthread_t thread;
    pthread_barrier_init(&all_slept, NULL, (unsigned)p.count + 1);
    for (long i = 0; i < p.count; i++) {
        if ((errno = pthread_create(&thread, NULL, sleeper, (void *)(intptr_t)p.zones)) != 0)
            fail("pthread_create");
    }
    pthread_barrier_wait(&all_slept);
}

struct after_main {
    struct steps steps;
};

static void run(struct steps *steps);

static void *go_on(void *argument)
{
    struct after_main *rest = argument;
    run(&rest->steps);
    exit(0);
}

/* The first thread ends; another one does the rest. */
static void leave_to_thread(struct steps *steps)
{
    static struct after_main rest;
    pthread_t thread;
    rest.steps = *steps;
    if ((errno = pthread_create(&thread, NULL, go_on, &rest)) != 0)
        fail("pthread_create");
    pthread_exit(NULL);
}

/* --- processes --- */

static void wait_for(pid_t child, const char *what)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        fail(what);
}

static pid_t fork_how(const char *how)
{
    if (strcmp(how, "fork") == 0)
        return fork();
    return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL); /* no handler of libc's runs */
}

static void children(const char *how, struct pair p)
{
    for (long i = 0; i < p.count; i++) {
        pid_t child = fork_how(how);
        if (child == 0) {
            make_zones(p.zones);
            _exit(0);
        }
        wait_for(child, how);
    }
}

/* A child shares our memory until it execs: what it records is on our track. */
static void vfork_child(const char *program, char **arguments)
{
    pid_t child = vfork();
    if (child == 0) {
        OPSCOPE_BEGIN("in a vfork child");
        OPSCOPE_END();
        execve(program, arguments, environ);
        _exit(98);
    }
    wait_for(child, "vfork");
}

static void spawn_child(const char *program, char **arguments)
{
    pid_t child;
    if ((errno = posix_spawn(&child, program, NULL, NULL, arguments, environ)) != 0)
        fail("posix_spawn");
    wait_for(child, "posix_spawn");
}

/* A new image does the rest, as the same process. */
static void exec_rest(struct steps *steps, char *self)
{
    steps->next[-1] = self;
    execv("/proc/self/exe", steps->next - 1);
    fail("execv");
}

/* A daemon does the rest; this process ends with status 0 as soon as the file is there. */
static void become_daemon(const char *file)
{
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child > 0) {
        if (file)
            wait_for_file(file);
        _exit(0);
    }
    setsid();
    child = fork();
    if (child < 0)
        fail("fork");
    if (child > 0)
        _exit(0);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
}

static void touch_nothing(void)
{
    volatile uintptr_t nowhere = 8;
    *(volatile int *)nowhere = 1;
}

static volatile sig_atomic_t caught;

static void on_signal(int signal_number)
{
    (void)signal_number;
    caught++;
}

/* No SA_RESTART, and read_line goes on by itself: a signal that is handled does not end a "read". */
static void catch_signal(int signal_number)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(signal_number, &action, NULL);
}

static void wait_for_signal(void)
{
    while (!caught)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void lift_file_size_limit(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        fail("setrlimit");
}

/* What is open stays open; nothing else can be opened. */
static void forbid_descriptors(void)
{
    struct rlimit limit = {.rlim_cur = 0, .rlim_max = 0};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        fail("setrlimit");
}

static void make_other_things(long count)
{
    for (long i = 0; i < count; i++) {
        opscope_message("a message");
        OPSCOPE_COUNTER("count", i);
        OPSCOPE_FRAME("frame");
    }
}

static void report_memory(void)
{
    char line[256];
    long shared = 0, anonymous = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "RssShmem:", 9) == 0)
            shared = number(line + 9);
        if (strncmp(line, "RssAnon:", 8) == 0)
            anonymous = number(line + 8);
    }
    if (file)
        fclose(file);
    printf("memory %ld %ld\n", shared, anonymous);
}

/* A step that is about processes or about how this one ends. */
static bool control_step(const char *verb, const char *value, struct steps *steps, char *self)
{
    char *again[] = {self, (char *)(uintptr_t)value, NULL};
    if (strcmp(verb, "fork") == 0 || strcmp(verb, "clone") == 0)
        children(verb, pair_of(value));
    else if (strcmp(verb, "vfork") == 0)
        vfork_child("/proc/self/exe", again); /* value: the step that the new image does */
    else if (strcmp(verb, "spawn") == 0)
        spawn_child("/proc/self/exe", again);
    else if (strcmp(verb, "exec") == 0)
        exec_rest(steps, self);
    else if (strcmp(verb, "daemon") == 0)
        become_daemon(value);
    else if (strcmp(verb, "leave-to-thread") == 0)
        leave_to_thread(steps);
    else if (strcmp(verb, "raise") == 0)
        raise((int)number(value));
    else if (strcmp(verb, "segv") == 0)
        touch_nothing();
    else if (strcmp(verb, "catch") == 0)
        catch_signal((int)number(value));
    else if (strcmp(verb, "await-signal") == 0)
        wait_for_signal();
    else if (strcmp(verb, "lift-file-size-limit") == 0)
        lift_file_size_limit();
    else if (strcmp(verb, "no-descriptors") == 0)
        forbid_descriptors();
    else if (strcmp(verb, "ignore") == 0)
        signal((int)number(value), SIG_IGN);
    else if (strcmp(verb, "exit") == 0)
        exit((int)number(value));
    else if (strcmp(verb, "_exit") == 0)
        _exit((int)number(value));
    else
        return false;
    return true;
}

static bool record_step(const char *verb, const char *value)
{
    if (strcmp(verb, "zones") == 0)
        make_zones(number(value));
    else if (strcmp(verb, "slow") == 0)
        make_slow(number(value));
    else if (strcmp(verb, "noisy") == 0)
        make_noisy(number(value));
    else if (strcmp(verb, "nest") == 0)
        make_nested(number(value));
    else if (strcmp(verb, "place") == 0)
        make_place(value);
    else if (strcmp(verb, "open") == 0)
        opscope_zone_begin(value);
    else if (strcmp(verb, "close") == 0)
        opscope_zone_end();
    else if (strcmp(verb, "message") == 0)
        opscope_message(value);
    else if (strcmp(verb, "others") == 0)
        make_other_things(number(value));
    else if (strcmp(verb, "signpost") == 0)
        opscope_signpost(value, NULL);
    else if (strcmp(verb, "step") == 0)
        OPSCOPE_FRAME("step");
    else if (strcmp(verb, "op") == 0)
        opscope_op_begin(value, OPSCOPE_OP_DEVICE, 0);
    else if (strcmp(verb, "op-end") == 0)
        opscope_op_end();
    else if (strcmp(verb, "pause") == 0)
        opscope_pause();
    else if (strcmp(verb, "resume") == 0)
        opscope_resume();
    else if (strcmp(verb, "capture") == 0) /* what the adapter of a driver calls */
        opscope_capture_(number(value) != 0);
    else if (strcmp(verb, "threads") == 0)
        threads(pair_of(value), true);
    else if (strcmp(verb, "sleepers") == 0)
        sleepers(pair_of(value));
    else if (strcmp(verb, "short-threads") == 0)
        threads(pair_of(value), false);
    else
        return false;
    return true;
}

static char *self_name;

static void run(struct steps *steps)
{
    while (*steps->next) {
        char verb[32];
        const char *step = *steps->next++, *equals = strchr(step, '=');
        size_t length = equals ? (size_t)(equals - step) : strlen(step);
        const char *value = equals ? equals + 1 : NULL;
        if (length >= sizeof verb)
            length = sizeof verb - 1;
        memcpy(verb, step, length);
        verb[length] = '\0';
        if (record_step(verb, value) || control_step(verb, value, steps, self_name))
            continue;
        if (strcmp(verb, "say") == 0)
            say(value);
        else if (strcmp(verb, "pid") == 0)
            printf("%d\n", (int)getpid());
        else if (strcmp(verb, "caught") == 0)
            printf("%d\n", (int)caught);
        else if (strcmp(verb, "memory") == 0)
            report_memory();
        else if (strcmp(verb, "read") == 0)
            read_line();
        else if (strcmp(verb, "touch") == 0)
            touch(value);
        else if (strcmp(verb, "await") == 0)
            wait_for_file(value);
        else {
            fprintf(stderr, "script: no step is called %s\n", verb);
            exit(98);
        }
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    struct steps steps = {argv + 1};
    self_name = argv[0];
    if (argc < 2)
        return 0;
    run(&steps);
    return 0;
}
