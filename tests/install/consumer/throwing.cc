// A program in C++11 whose callbacks throw. It knows the installed header and libraries alone.
#include <hocket/hocket.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

struct Program {
    int thrown = 0, events = 0, ends = 0;
    bool throwing = true;
    std::string text, log;

    void fail(const char *where)
    {
        if (!throwing)
            return;
        thrown++;
        throw std::runtime_error(where);
    }
};

static void on_event(hocket_host *, uint64_t, const hocket_event *, void *ud)
{
    Program *p = static_cast<Program *>(ud);
    p->events++;
    p->fail("event");
}

static void on_done(hocket_host *, uint64_t, const hocket_result *result, void *ud)
{
    Program *p = static_cast<Program *>(ud);
    p->ends++;
    p->text = result->error ? result->error->message : std::string(result->text, result->text_len);
    p->fail("done");
}

static void on_log(hocket_log_level, const char *text, void *ud)
{
    static_cast<Program *>(ud)->log += text;
}

static void check(bool good, const char *what)
{
    if (good)
        return;
    std::fprintf(stderr, "throwing: %s\n", what);
    std::exit(1);
}

static void start(hocket_host *host, const char *script, Program *p)
{
    hocket_error error;
    hocket_run_spec spec = hocket_run_spec();
    spec.size = sizeof(spec);
    spec.target = script;
    spec.input = "thrown";
    if (hocket_run_start(host, &spec, nullptr, on_event, on_done, p, &error) < 0)
        check(false, error.message);
}

// How often something came out of it.
template <typename Turn> static int turn_until_end(Program *p, Turn turn)
{
    int caught = 0, before = p->ends;
    for (int i = 0; i < 2000 && p->ends == before; i++) {
        try {
            check(turn() >= 0, "a host that threw does not go on");
        } catch (const std::runtime_error &) {
            caught++;
        }
    }
    return caught;
}

int main(int argc, char **argv)
{
    Program p;
    hocket_options options;
    hocket_error error;
    hocket_host *host;
    const char *script = argc > 1 ? argv[1] : "echo.lua";
    hocket_options_init(&options, sizeof(options));
    options.log_cb = on_log;
    options.log_ud = &p;
    if (hocket_open(&options, &host, &error) < 0 || hocket_serve_attach(host, &error) < 0)
        check(false, error.message);

    start(host, script, &p);
    int caught = turn_until_end(&p, [&] { return hocket_pump(host, 1000); });
    start(host, script, &p);
    caught += turn_until_end(&p, [&] { return hocket_wait(host, 10); });
    check(p.ends == 2 && p.text.find("thrown") != std::string::npos, p.text.c_str());
    check(caught == p.thrown && caught == p.events + p.ends, "an exception, or an event, was lost");

    p.throwing = false; // all is as ever
    start(host, script, &p);
    check(turn_until_end(&p, [&] { return hocket_pump(host, 0); }) == 0 && p.ends == 3, "no end");

    p.throwing = true; // a close that throws goes on with the next
    start(host, script, &p);
    start(host, script, &p);
    int closes = 0;
    for (bool closed = false; !closed; closes++) {
        try {
            hocket_close(host, nullptr, nullptr);
            closed = true;
        } catch (const std::runtime_error &) {
        }
    }
    check(p.ends == 5 && closes > 2 && closes < 20, "the host was not closed");
    check(p.log.empty(), p.log.c_str());
    std::printf("%d exceptions, %d closes\n", p.thrown, closes);
    return 0;
}
