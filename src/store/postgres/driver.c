/* What libhocket looks for in this component. */
#include "store/load.h"
#include "store/postgres/postgres.h"

const struct hocket__store_driver hocket__store_postgres = { HOCKET_VERSION,
    hocket__store_postgres_open };
