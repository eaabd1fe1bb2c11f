/* The same through the shared component, as libhocket finds it. */
#include "store/conformance.h"
#include "store/load.h"

int main(void)
{
    static const struct store_kind kind = { "component", hocket__store_file_open, true };
    return conformance(&kind);
}
