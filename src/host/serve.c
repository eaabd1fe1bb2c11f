/* Makes the optional component known to a host. */

#include "bind/modules.h"
#include "bind/open.h"
#include "host/host.h"

int hocket_serve_attach(hocket_host *host, struct hocket_error *err)
{
    if (!host)
        return hocket__error(err, HOCKET_EINVAL, "the server needs a host");
    int rc = hocket__module_add(host->L, "hocket.internal.core.proxy", hocket__open_proxy, err);
    if (rc == 0)
        rc = hocket__module_add(host->L, "hocket.internal.core.runs", hocket__open_runs, err);
    if (rc == 0)
        rc = hocket__module_add(host->L, "hocket.internal.core.server", hocket__open_server, err);
    if (rc == 0)
        rc = hocket__modules_add_pack(host->rt, host->L, &hocket__pack_serve, err);
    return rc;
}
