/* Makes the optional component known to a host. */

#include "bind/modules.h"
#include "bind/open.h"
#include "host/host.h"

int hocket_serve_attach(hocket_host *host, struct hocket_error *err)
{
    return hocket__module_add(host->L, "hocket.internal.core.server", hocket__open_server, err);
}
