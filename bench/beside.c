#include "beside.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char base[64];
static pid_t mock;

const char *bench_mock_variable(const char *name, void *ud)
{
    (void) ud;
    if (strcmp(name, "OPENAI_BASE_URL") == 0)
        return base;
    return strcmp(name, "OPENAI_API_KEY") == 0 ? "none" : NULL;
}

/* It prints its port. */
static int read_port(int fd)
{
    char text[16];
    ssize_t n = read(fd, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = 0;
    return atoi(text);
}

void bench_mock_start(void)
{
    char self[512];
    int out[2];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 16);
    if (n < 0 || pipe(out) < 0)
        exit(2);
    self[n] = 0;
    strcpy(strrchr(self, '/'), "/bench_mock");
    if ((mock = fork()) == 0) {
        dup2(out[1], STDOUT_FILENO);
        close(out[0]);
        execl(self, self, (char *) NULL);
        _exit(127);
    }
    close(out[1]);
    int port = read_port(out[0]);
    close(out[0]);
    if (mock < 0 || port == 0)
        exit(2);
    snprintf(base, sizeof(base), "http://127.0.0.1:%d/v1", port);
}

void bench_mock_stop(void)
{
    kill(mock, SIGTERM);
    waitpid(mock, NULL, 0);
}
