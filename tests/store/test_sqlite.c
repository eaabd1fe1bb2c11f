#include "store/conformance.h"
#include "store/sqlite/sqlite.h"

int main(void)
{
    static const struct store_kind kind = { "sqlite", hocket__store_sqlite_open, true };
    return conformance(&kind);
}
