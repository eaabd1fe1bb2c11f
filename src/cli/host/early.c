/* Loads libcurl while the host is opened and reads its scripts. Its thread is the program's and does nothing else: the
 * library has none that nobody asked for. Where libcurl is linked there is nothing to do. */
#include "cli/host/host.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "cli/library.h"

#ifdef CLI_EARLY_HTTP
/* It stays loaded: net/curl.c opens it once more. */
static void *load(void *unused)
{
    (void) unused;
    cli_library_load("libcurl.so.4", "", NULL);
    return NULL;
}
#endif

void cli_host_early_http(void)
{
#ifdef CLI_EARLY_HTTP
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, load, NULL) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
#endif
}
