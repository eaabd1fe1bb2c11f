/* What the thread sanitizer cannot know, for tests with threads: libuv and libcurl close descriptors by bare system calls, of
 * which it does not hear. A number that another thread is given next looks to it as if both had the descriptor at
 * once, in the call that makes or closes it. To be included by one file of a test. */
#pragma once

__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
    return "race:^socket$\nrace:^closedir$\n";
}
