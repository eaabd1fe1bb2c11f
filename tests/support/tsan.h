/* What the thread sanitizer cannot know, for tests with threads: libuv and libcurl close descriptors by bare system calls, of
 * which it does not hear. A number that another thread is given next looks to it as if both had the descriptor at
 * once, in the call that makes or closes it: the sanitizer's own function in its place. To be included by one file of
 * a test. */
#pragma once

__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
    return "race:^__interceptor_socket$\n"
           "race:^__interceptor_accept$\n"
           "race:^__interceptor_accept4$\n"
           "race:^__interceptor_pipe$\n"
           "race:^__interceptor_pipe2$\n"
           "race:^__interceptor_open$\n"
           "race:^__interceptor_open64$\n"
           "race:^__interceptor_fopen$\n"
           "race:^__interceptor_fopen64$\n"
           "race:^__interceptor_close$\n"
           "race:^__interceptor_fclose$\n"
           "race:^__interceptor_closedir$\n"
           "race:^__interceptor_dup$\n"
           "race:^__interceptor_eventfd$\n"
           "race:^__interceptor_epoll_create$\n"
           "race:^__interceptor_epoll_create1$\n";
}
