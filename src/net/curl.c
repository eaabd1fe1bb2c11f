/* libcurl as a table of functions, loaded at the first request (curl.h). Written once per process,
 * under uv_once, and read-only from then on. */
#include "net/curl.h"

#include <uv.h>
#include <string.h>

#include "base/bytes.h"
#include "os/descriptors.h"
#include "os/library.h"

#define LIBRARY HOCKET__LIBRARY("curl", "4")
/* CURLOPT_QUICK_EXIT and CURL_WRITEFUNC_ERROR */
#define VERSION_NEEDED 0x075700

/* The process's one copy: written under the lock until it is there, and never again. */
static struct {
    uv_once_t once; /* makes the lock */
    uv_mutex_t lock;
    bool there;
    struct hocket__curl curl;
} loaded = { .once = UV_ONCE_INIT };

/* The linker's own words for it: it keeps no code. */
static bool is_memory(const char *why)
{
    return strstr(why, "failed to map segment") || hocket__has_word(why, "cannot allocate memory")
           || strstr(why, "cannot create shared object descriptor");
}

/* It may be there, and the process have no descriptor left to read it with, or no memory to put it into. */
static int cannot_load(const char *why, struct hocket_error *err)
{
    char words[HOCKET__ERRNO_WORDS];
    int code = hocket__descriptors_left(1, -1);
    if (code == 0 && is_memory(why))
        return hocket__error(
            err, HOCKET_ENOMEM, "there is no memory left to load libcurl into: %s", why);
    return hocket__error(err, code ? HOCKET_EIO : HOCKET_EUNSUPPORTED,
        "HTTP needs libcurl (Debian package libcurl4): %s",
        code ? hocket__errno_words(code, words) : why);
}

int hocket__curl_open(const char *library, struct hocket__curl *curl, struct hocket_error *err)
{
#define NAME(name) "curl_" #name "\0"
    const char *why;
    switch (hocket__library_load(library, HOCKET__CURL_MAP(NAME), curl, &why)) {
    case HOCKET__LIBRARY_LOADED: return 0;
    case HOCKET__LIBRARY_ABSENT: return cannot_load(why, err);
    case HOCKET__LIBRARY_OTHER: break;
    }
#undef NAME
    return hocket__error(err, HOCKET_EUNSUPPORTED,
        "%s is not a libcurl that HTTP can use (Debian package libcurl4): it has no %s", library,
        why);
}

static int fill(struct hocket__curl *curl, struct hocket_error *err)
{
#if HOCKET_CURL_LINKED
#define TAKE(name) curl->name = curl_##name;
    HOCKET__CURL_MAP(TAKE)
#undef TAKE
    return 0;
#else
    return hocket__curl_open(LIBRARY, curl, err);
#endif
}

int hocket__curl_check(const curl_version_info_data *v, struct hocket_error *err)
{
    if (v->version_num < VERSION_NEEDED)
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "libcurl %s is too old: 7.87 or later is needed (Debian package libcurl4)", v->version);
    bool tls = v->features & CURL_VERSION_SSL, http2 = v->features & CURL_VERSION_HTTP2;
    if (tls && http2)
        return 0;
    return hocket__error(err, HOCKET_EUNSUPPORTED,
        "libcurl %s was built without %s: one that has both is needed (Debian package libcurl4)",
        v->version,
        !tls && !http2 ? "TLS and HTTP/2"
        : tls          ? "HTTP/2 (nghttp2)"
                       : "TLS");
}

static int start(struct hocket__curl *curl, struct hocket_error *err)
{
    int rc = fill(curl, err);
    if (rc < 0)
        return rc;
    const curl_version_info_data *v = curl->version_info(CURLVERSION_NOW);
    rc = hocket__curl_check(v, err);
    if (rc < 0)
        return rc;
    CURLcode code = curl->global_init(CURL_GLOBAL_ALL);
    if (code != CURLE_OK)
        return hocket__error(err, HOCKET_EUNSUPPORTED, "libcurl %s does not start: %s", v->version,
            curl->easy_strerror(code));
    return 0;
}

static void make_lock(void)
{
    uv_mutex_init(&loaded.lock);
}

/* What fails now, descriptors being out for example, is tried again by whoever asks next. */
const struct hocket__curl *hocket__curl_load(struct hocket_error *err)
{
    uv_once(&loaded.once, make_lock);
    uv_mutex_lock(&loaded.lock);
    bool there = loaded.there = loaded.there || start(&loaded.curl, err) == 0;
    uv_mutex_unlock(&loaded.lock);
    return there ? &loaded.curl : NULL;
}
