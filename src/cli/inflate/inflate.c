/* zlib is loaded when a page is written, which few runs of the program do. */
#include "cli/inflate/inflate.h"

#ifdef HOCKET_ZLIB

#include <zlib.h>

#include "cli/library.h"

#define LIBRARY "libz.so.1"
#define GZIP    (16 + MAX_WBITS) /* as inflateInit2 wants it */

struct zlib {
    int (*init)(z_streamp, int, const char *, int);
    int (*inflate)(z_streamp, int);
    int (*end)(z_streamp);
};

static const struct zlib *load(void)
{
#if HOCKET_STATIC
    static const struct zlib lib = { inflateInit2_, inflate, inflateEnd };
    return &lib;
#else
    static struct zlib lib;
    static const char names[] = "inflateInit2_\0inflate\0inflateEnd\0";
    return lib.end || cli_library_load(LIBRARY, names, &lib) ? &lib : NULL;
#endif
}

/* Until the end of what is packed; anything else than that end is an error. */
static bool unpack(const struct zlib *lib, z_stream *z, struct cli_buf *out)
{
    unsigned char part[16384];
    int rc;
    do {
        z->next_out = part;
        z->avail_out = sizeof(part);
        rc = lib->inflate(z, Z_NO_FLUSH);
        cli_buf_add(out, (char *) part, sizeof(part) - z->avail_out);
    } while (rc == Z_OK);
    return rc == Z_STREAM_END;
}

const char *cli_inflate(struct cli_buf *out, const unsigned char *packed, size_t n)
{
    const struct zlib *lib = load();
    z_stream z = { .next_in = (Bytef *) packed, .avail_in = (uInt) n };
    if (!lib)
        return "it takes " LIBRARY " to unpack it (package zlib1g)";
    if (lib->init(&z, GZIP, ZLIB_VERSION, (int) sizeof(z)) != Z_OK)
        return "it cannot be unpacked";
    bool whole = unpack(lib, &z, out);
    lib->end(&z);
    return whole ? NULL : "it cannot be unpacked";
}

#else

const char *cli_inflate(struct cli_buf *out, const unsigned char *packed, size_t n)
{
    (void) out;
    (void) packed;
    (void) n;
    return "it cannot be unpacked: hocket was built without zlib (package zlib1g-dev)";
}

#endif
