/* Exceptions of an embedder pass through callbacks of the library (host/run/events.c), which needs 20 KB of libgcc. The program has no
 * embedder: a frame of it has nothing to clean up, and so the unwinder that passes one goes on. Linked where libgcc would be
 * linked in, see CMakeLists.txt. */
#include <stdlib.h>

int __gcc_personality_v0(
    int version, int actions, unsigned long long kind, void *exception, void *context);
void _Unwind_Resume(void *exception);

int __gcc_personality_v0(
    int version, int actions, unsigned long long kind, void *exception, void *context)
{
    enum { CONTINUE_UNWIND = 8 };
    return CONTINUE_UNWIND;
}

/* Only code that cleans up calls it. */
void _Unwind_Resume(void *exception)
{
    abort();
}
