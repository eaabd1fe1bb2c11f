/* What the system calls its errors and signals, in words that no locale and no other thread changes. */
#pragma once

/* The words of an errno: "No such file or directory". Never NULL. */
const char *hocket__errno_text(int code);
/* The name of a signal without SIG: "TERM". NULL: the system has no such signal. */
const char *hocket__signal_name(int signal);
