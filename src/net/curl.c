#include "net/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#define LIBRARY "libcurl.so.4"
/* CURLOPT_QUICK_EXIT and CURL_WRITEFUNC_ERROR */
#define VERSION_NEEDED 0x075700

/* The process's one copy: written under `once`, read only afterwards. */
static struct {
    pthread_once_t once;
    int status;
    struct hocket__curl curl;
    struct hocket_error error;
} loaded = { .once = PTHREAD_ONCE_INIT };

int hocket__curl_open(const char *library, struct hocket__curl *curl, struct hocket_error *err)
{
    void *lib = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!lib)
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "HTTP needs libcurl (Debian package libcurl4): %s", dlerror());
    void *address;
/* POSIX lets a data pointer carry a function's address; ISO C has no cast for it. */
#define LOOK_UP(name)                                                                              \
    if (!(address = dlsym(lib, "curl_" #name)))                                                    \
        goto missing;                                                                              \
    memcpy(&curl->name, &address, sizeof(address));
    HOCKET__CURL_MAP(LOOK_UP)
#undef LOOK_UP
    return 0;
missing:
    hocket__error(err, HOCKET_EUNSUPPORTED,
        "%s is not a libcurl that HTTP can use (Debian package libcurl4): %s", library, dlerror());
    dlclose(lib);
    return HOCKET_EUNSUPPORTED;
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

static int start(struct hocket__curl *curl, struct hocket_error *err)
{
    if (fill(curl, err) < 0)
        return HOCKET_EUNSUPPORTED;
    const curl_version_info_data *v = curl->version_info(CURLVERSION_NOW);
    if (v->version_num < VERSION_NEEDED)
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "libcurl %s is too old: 7.87 or later is needed (Debian package libcurl4)", v->version);
    CURLcode code = curl->global_init(CURL_GLOBAL_ALL);
    if (code != CURLE_OK)
        return hocket__error(err, HOCKET_EUNSUPPORTED, "libcurl %s does not start: %s", v->version,
            curl->easy_strerror(code));
    return 0;
}

static void load_once(void)
{
    loaded.status = start(&loaded.curl, &loaded.error);
}

const struct hocket__curl *hocket__curl_load(struct hocket_error *err)
{
    pthread_once(&loaded.once, load_once);
    if (loaded.status == 0)
        return &loaded.curl;
    if (err)
        *err = loaded.error;
    return NULL;
}
