/* Which of a request's four timeouts is due next, and what happens when its one deadline
 * passes.
 *
 * Progress does not touch the deadline: thousands of chunks a second would move it in the heap
 * each time. It notes the time; when the deadline passes it is found out that the wait has
 * begun anew, and the deadline is set to where it ends now. */
#include "net/http/wait.h"

#include "net/http/http_impl.h"
#include "net/http/error.h"
#include "net/http/origin.h"
#include "net/http/request.h"

#define LITTLE_MS 1000

static void keep_earlier(
    uint64_t from, uint64_t ms, enum hocket__wait what, uint64_t *at, enum hocket__wait *wait)
{
    if (ms == UINT64_MAX || from + ms >= *at)
        return;
    *at = from + ms;
    *wait = what;
}

/* When the request is too late, and what for; UINT64_MAX: never. */
static uint64_t due(const struct hocket__request *req, enum hocket__wait *wait)
{
    uint64_t at = UINT64_MAX, start = req->started / 1000, idle = req->idle_ms;
    if (req->progress == HOCKET__REQUEST_TO_END && idle > LITTLE_MS)
        idle = LITTLE_MS;
    keep_earlier(start, req->total_ms, HOCKET__WAIT_TOTAL, &at, wait);
    if (req->place != HOCKET__REQUEST_WAITING && !hocket__request_is_connected(req))
        keep_earlier(req->sent_off / 1000, req->connect_ms, HOCKET__WAIT_CONNECT, &at, wait);
    /* first_ms counts from the start, the queue included: a caller that asked for an answer in
     * 10 s does not care why there is none */
    if (req->progressed)
        keep_earlier(req->last_progress, idle, HOCKET__WAIT_IDLE, &at, wait);
    else
        keep_earlier(start, req->first_ms, HOCKET__WAIT_FIRST, &at, wait);
    return at;
}

void hocket__wait_begin(struct hocket__request *req)
{
    enum hocket__wait wait;
    uint64_t at = due(req, &wait);
    if (at != UINT64_MAX && (req->deadline.place == 0 || at < req->deadline.at))
        hocket__deadline_set(&req->http->deadlines, &req->deadline, at);
}

static void time_out(struct hocket__request *req, enum hocket__wait wait)
{
    struct hocket__http *http = req->http;
    struct hocket__origin *origin = req->origin;
    /* A look-up that hangs takes those with it that wait for the same name: they would hang
     * one after another. */
    bool name = wait == HOCKET__WAIT_CONNECT && req->place == HOCKET__REQUEST_PROBE
                && !hocket__request_has_opened(req);
    uint64_t id = http->last_id;
    struct hocket_error err;
    hocket__http_enter(http);
    hocket__http_explain_timeout(req, wait, &err);
    hocket__request_end(req, &err);
    if (name)
        hocket__origin_fail(origin, id, &err);
    hocket__http_leave(http);
}

void hocket__wait_passed(struct hocket__deadline *d)
{
    struct hocket__request *req = hocket__container_of(d, struct hocket__request, deadline);
    enum hocket__wait wait = HOCKET__WAIT_TOTAL;
    uint64_t at = due(req, &wait), now = hocket__deadlines_now();
    if (at == UINT64_MAX)
        return;
    /* Twice late, with a poll of the sockets between: see wait.h. */
    if (at > now || !req->late) {
        req->late = at <= now;
        hocket__deadline_set(&req->http->deadlines, d, at);
        return;
    }
    time_out(req, wait);
}

void hocket__wait_progress(struct hocket__request *req)
{
    req->last_progress = uv_now(req->http->loop);
    if (req->progress == HOCKET__REQUEST_TO_END)
        req->progress = HOCKET__REQUEST_BY_HANDLER;
    if (req->progressed)
        return;
    req->progressed = true;
    hocket__wait_begin(req);
}

void hocket__wait_for_end(struct hocket__request *req)
{
    req->progress = HOCKET__REQUEST_TO_END;
    req->progressed = true;
    req->last_progress = uv_now(req->http->loop);
    hocket__wait_begin(req);
}
