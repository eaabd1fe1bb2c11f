/* What libhocket looks for in this component. */
#include "store/load.h"
#include "store/sqlite/sqlite.h"

const struct hocket__store_driver hocket__store_sqlite = { HOCKET_VERSION,
    hocket__store_sqlite_open };
