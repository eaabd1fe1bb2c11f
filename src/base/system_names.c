#include "base/system_names.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

#ifdef __GLIBC__

const char *hocket__errno_text(int code)
{
    const char *text = strerrordesc_np(code);
    return text ? text : "unknown error";
}

const char *hocket__signal_name(int signal)
{
    return sigabbrev_np(signal);
}

#else

/* Elsewhere than in glibc this is a constant for each code. */
const char *hocket__errno_text(int code)
{
    return strerror(code);
}

#define SIGNAL(name)                                                                               \
    {                                                                                              \
        SIG##name, #name                                                                           \
    }

static const struct {
    int signal;
    const char *name;
} signals[] = {
    SIGNAL(ABRT),
    SIGNAL(FPE),
    SIGNAL(ILL),
    SIGNAL(INT),
    SIGNAL(SEGV),
    SIGNAL(TERM),
#ifndef _WIN32
    SIGNAL(ALRM),
    SIGNAL(BUS),
    SIGNAL(CHLD),
    SIGNAL(CONT),
    SIGNAL(HUP),
    SIGNAL(KILL),
    SIGNAL(PIPE),
    SIGNAL(PROF),
    SIGNAL(QUIT),
    SIGNAL(STOP),
    SIGNAL(SYS),
    SIGNAL(TRAP),
    SIGNAL(TSTP),
    SIGNAL(TTIN),
    SIGNAL(TTOU),
    SIGNAL(URG),
    SIGNAL(USR1),
    SIGNAL(USR2),
    SIGNAL(VTALRM),
    SIGNAL(WINCH),
    SIGNAL(XCPU),
    SIGNAL(XFSZ),
#endif
};

const char *hocket__signal_name(int signal)
{
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (signals[i].signal == signal)
            return signals[i].name;
    return NULL;
}

#endif
