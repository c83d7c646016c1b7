/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEW_BYTES 16u
#define LEAST 16u /* characters of one that somebody chose */

static int make_new(char token[TOKEN_MAX + 1], struct error *err)
{
    unsigned char random[NEW_BYTES];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return error_set_errno(err, errno, "random bytes for the token");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(token + 2 * i, 3, "%02x", random[i]);
    return 0;
}

/* It is part of links, headers and cookies. */
static int take(char token[TOKEN_MAX + 1], const char *text, size_t length, const char *from,
                struct error *err)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    bool is_one = length >= LEAST && length <= TOKEN_MAX;
    for (size_t i = 0; i < length && is_one; i++)
        is_one = text[i] && strchr(allowed, text[i]);
    if (!is_one)
        return error_set(err, EINVAL, "%s: a token is %u to %u letters, digits and -._~", from, LEAST,
                         TOKEN_MAX);
    memcpy(token, text, length);
    token[length] = 0;
    return 0;
}

static int read_file(char token[TOKEN_MAX + 1], int fd, const char *file, struct error *err)
{
    char text[TOKEN_MAX + 3];
    struct stat about;
    if (fstat(fd, &about) != 0)
        return error_set_errno(err, errno, "%s", file);
    if (!S_ISREG(about.st_mode))
        return error_set(err, EINVAL, "%s: not a regular file", file);
    if (about.st_uid != geteuid() || about.st_mode & 077)
        return error_set(err, EACCES, "%s: other users can read it: chown it to you, then chmod 600", file);
    ssize_t n = read(fd, text, sizeof text);
    if (n < 0)
        return error_set_errno(err, errno, "%s", file);
    size_t length = (size_t)n;
    while (length && (text[length - 1] == '\n' || text[length - 1] == '\r'))
        length--;
    return take(token, text, length, file, err);
}

static int write_file(const char *token, const char *file, struct error *err)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_set_errno(err, errno, "%s", file);
    int code = dprintf(fd, "%s\n", token) < 0 ? errno : 0;
    if (close(fd) != 0 && !code)
        code = errno;
    return code ? error_set_errno(err, code, "%s", file) : 0;
}

int token_choose(char token[TOKEN_MAX + 1], const char *file, struct error *err)
{
    const char *chosen = getenv(TOKEN_VARIABLE);
    if (file) {
        int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd >= 0) {
            int status = read_file(token, fd, file, err);
            close(fd);
            return status;
        }
        if (errno != ENOENT)
            return error_set_errno(err, errno, "%s", file);
        int status = make_new(token, err);
        return status ? status : write_file(token, file, err);
    }
    if (!chosen || !*chosen)
        return make_new(token, err);
    int status = take(token, chosen, strlen(chosen), TOKEN_VARIABLE, err);
    unsetenv(TOKEN_VARIABLE); /* not for what we start */
    return status;
}

bool token_is(const char *token, const char *text, size_t length)
{
    size_t own = strlen(token);
    unsigned char difference = length != own;
    for (size_t i = 0; i < own; i++)
        difference |= (unsigned char)(token[i] ^ (i < length ? text[i] : 0));
    return difference == 0;
}
