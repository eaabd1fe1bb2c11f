/* Which exit code stands for which status. Several share one: a script that looks at the code
 * wants to know what to do about it (fix the agent, look at the key, raise the budget), and
 * the message says what happened. */
#include "cli/exit.h"

#include <hocket/hocket.h>

int cli_exit_of(int status)
{
    switch (status) {
    case HOCKET_EINVAL: return CLI_EXIT_USAGE;
    case HOCKET_EAGENT: return CLI_EXIT_AGENT;
    case HOCKET_EAUTH:
    case HOCKET_ECONNECT:
    case HOCKET_ETLS:
    case HOCKET_EHTTP:
    case HOCKET_EPROTOCOL:
    case HOCKET_ETRUNCATED:
    case HOCKET_EPROVIDER:
    case HOCKET_EOFFLINE: return CLI_EXIT_PROVIDER;
    case HOCKET_EBUDGET:
    case HOCKET_ELIMIT: return CLI_EXIT_BUDGET;
    case HOCKET_EDECLINED: return CLI_EXIT_DECLINED;
    case HOCKET_EPARKED: return CLI_EXIT_PARKED;
    case HOCKET_ETIMEOUT: return CLI_EXIT_TIMEOUT;
    case HOCKET_ECANCELLED: return CLI_EXIT_INTERRUPTED; /* by somebody elsewhere */
    default: return status < 0 ? CLI_EXIT_FAILED : CLI_EXIT_DONE;
    }
}

int cli_exit_of_signal(int signo)
{
    return 128 + signo;
}

void cli_exit_explain(struct cli_buf *out)
{
#define ROW(name, code, text) cli_buf_addf(out, "  %-5d %s\n", code, text);
    CLI_EXIT_MAP(ROW)
#undef ROW
}
