/* The decision; permission.h has the policy. Each layer is looked up, and the word of people is
 * collected on the way (hear); then comes the base, and at last whether people have answered the
 * ask beforehand (is_lifted).
 *
 * Matching is lopsided on purpose (condition_holds): to allow, a rule has to fit all of a call; to
 * ask or deny it is enough that it fits a part. */
#include "core/permission/permission_impl.h"

#include "base/protected.h"
#include "core/permission/command.h"
#include "core/permission/url.h"

#include <strings.h>

#define DOES        (HOCKET__WRITES | HOCKET__RUNS | HOCKET__OPENS | HOCKET__ELSEWHERE)
#define REACHES_OUT (HOCKET__RUNS | HOCKET__SENDS | HOCKET__ELSEWHERE)
#define TELLS       (HOCKET__SENDS | HOCKET__ELSEWHERE)

/* ---- One rule ------------------------------------------------------------------ */

struct asked {
    const struct hocket__permissions *d;
    const struct hocket__permission_call *call;
    const char **why_not; /* a command that a rule's glob fits, but the rule does not cover */
};

/* A glob such as "git *" is meant for one command: it allows none that goes on after it. */
static bool is_one_command(struct hocket__str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (strchr(";&|<>`$()\\\n\r", s.p[i])) /* and NUL, which strchr finds */
            return false;
    return true;
}

static bool command_matches(
    const struct asked *q, enum hocket__verdict v, struct hocket__str glob, struct hocket__str line)
{
    if (v != HOCKET__ALLOW)
        return hocket__command_has(glob, line);
    if (!hocket__permission_glob(glob, line))
        return false;
    const char *why_not = hocket__command_not_covered(glob, line);
    if (why_not)
        *q->why_not = why_not;
    return !why_not;
}

static bool value_matches(const struct asked *q, enum hocket__verdict v, struct hocket__str glob,
    const struct hocket__permission_arg *arg)
{
    if (arg->kind == HOCKET__COMMAND)
        return command_matches(q, v, glob, arg->value);
    if (arg->kind == HOCKET__URL)
        return v == HOCKET__ALLOW ? hocket__url_covers(glob, arg->value)
                                  : hocket__url_has(glob, arg->value);
    if (!hocket__permission_glob(glob, arg->value))
        return false;
    bool any = hocket__str_is(glob, "*");
    return v != HOCKET__ALLOW || any || !(q->call->effects & HOCKET__RUNS)
           || is_one_command(arg->value);
}

/* What allows has to fit every value of a list; what asks or denies only one of them. */
static bool condition_holds(
    const struct asked *q, enum hocket__verdict v, const struct hocket__permission_rule *c)
{
    struct hocket__str name = hocket__permission_text(q->d, c->name),
                       glob = hocket__permission_text(q->d, c->glob);
    /* seen > 0: a rule on an argument that the call does not have allows nothing */
    size_t seen = 0, matched = 0;
    if (name.n == 0)
        name = q->call->subject;
    for (size_t i = 0; i < q->call->n_args; i++) {
        if (!hocket__str_eq(q->call->args[i].name, name))
            continue;
        seen++;
        matched += value_matches(q, v, glob, &q->call->args[i]);
    }
    return v == HOCKET__ALLOW ? seen > 0 && matched == seen : matched > 0;
}

/* One rule and its conditions. */
struct rule {
    const struct hocket__permission_rule *head;
    size_t n_conditions;
    bool names_tool; /* and not only "*" */
};

static struct rule rule_at(
    const struct hocket__permissions *d, const struct hocket__permission_layer *l, size_t i)
{
    struct rule r = { .head = &d->rules[l->first + i] };
    while (
        i + 1 + r.n_conditions < l->count && r.head[1 + r.n_conditions].verdict == HOCKET__SILENT)
        r.n_conditions++;
    r.names_tool = !hocket__str_is(hocket__permission_text(d, r.head->name), "*");
    return r;
}

static bool is_for_tool(const struct asked *q, const struct rule *r)
{
    return hocket__permission_glob(hocket__permission_text(q->d, r->head->name), q->call->tool);
}

static bool rule_matches(const struct asked *q, const struct rule *r)
{
    for (size_t i = 0; i < r->n_conditions; i++)
        if (!condition_holds(q, r->head->verdict, &r->head[1 + i]))
            return false;
    return true;
}

/* ---- One layer ------------------------------------------------------------------- */

struct finding {
    enum hocket__verdict verdict;   /* SILENT: no rule of the layer is for this call */
    struct hocket__span tool, glob; /* the rule that decided */
    bool unlisted;                  /* it allows this tool for other arguments */
    bool allows_tool;               /* a rule that names the tool allows this call */
    bool allows_place;              /* … and says for which arguments */
    bool allows_credential;         /* … by a name that only credentials have */
};

/* A glob that is nothing but stars names nothing. */
static bool names_something(struct hocket__str glob)
{
    for (size_t i = 0; i < glob.n; i++)
        if (glob.p[i] != '*')
            return true;
    return false;
}

static void note_allowed(const struct asked *q, struct finding *f, const struct rule *r)
{
    f->allows_tool = true;
    for (size_t i = 1; i <= r->n_conditions; i++) {
        struct hocket__str glob = hocket__permission_text(q->d, r->head[i].glob);
        f->allows_place = f->allows_place || names_something(glob);
        f->allows_credential = f->allows_credential || hocket__credential_path(glob);
    }
}

static void note_match(const struct asked *q, struct finding *f, const struct rule *r)
{
    if (r->head->verdict == HOCKET__ALLOW && r->names_tool)
        note_allowed(q, f, r);
    if (r->head->verdict <= f->verdict)
        return;
    f->verdict = r->head->verdict;
    f->tool = r->head->name;
    f->glob = r->n_conditions ? r->head[1].glob : (struct hocket__span){ 0, 0 };
}

static struct finding look_up(const struct asked *q, const struct hocket__permission_layer *l)
{
    struct finding f = { .verdict = HOCKET__SILENT };
    bool lists = false;
    for (size_t i = 0; i < l->count;) {
        struct rule r = rule_at(q->d, l, i);
        i += 1 + r.n_conditions;
        if (!is_for_tool(q, &r))
            continue;
        lists = lists || r.head->verdict == HOCKET__ALLOW;
        if (rule_matches(q, &r))
            note_match(q, &f, &r);
    }
    if (f.verdict == HOCKET__SILENT && lists && l->mode != HOCKET__ALLOW) {
        f.verdict = HOCKET__ASK;
        f.unlisted = true;
    }
    return f;
}

static const char *const verdict_words[] = { "", "allow", "ask", "deny" };

static void say_finding(const struct asked *q, const struct hocket__permission_layer *l,
    const struct finding *f, struct hocket__buf *out)
{
    struct hocket__str name = hocket__permission_text(q->d, l->name);
    if (f->unlisted) {
        hocket__buf_addf(out, "%.*s allows %.*s for other arguments only", (int) name.n, name.p,
            (int) q->call->tool.n, q->call->tool.p);
        if (*q->why_not)
            hocket__buf_addf(out, " (%s)", *q->why_not);
        return;
    }
    struct hocket__str tool = hocket__permission_text(q->d, f->tool),
                       glob = hocket__permission_text(q->d, f->glob);
    hocket__buf_addf(out, "%.*s says %s for %.*s", (int) name.n, name.p, verdict_words[f->verdict],
        (int) tool.n, tool.p);
    if (glob.n)
        hocket__buf_addf(out, " with '%.*s'", (int) glob.n, glob.p);
}

/* ---- The base ---------------------------------------------------------------------- */

struct base {
    enum hocket__verdict verdict;
    bool labelled; /* asks because of labels */
    bool always;   /* asks, whatever anybody says */
    /* Paths for which it is denied or asked; p is NULL when there is none. */
    struct hocket__str place, credential,
        obeyed; /* protected; read; changed, and run or used by others */
};

static bool begins_with_path(struct hocket__str path, struct hocket__str place)
{
    /* without regard to case: on some file systems .GIT is .git */
    return path.n >= place.n && strncasecmp(path.p, place.p, place.n) == 0
           && (path.n == place.n || path.p[place.n] == '/');
}

static bool is_protected(const struct hocket__permissions *d, struct hocket__str path)
{
    for (size_t i = 0; i < d->n_grants; i++)
        if (begins_with_path(path, hocket__permission_text(d, d->grants[i])))
            return false;
    if (hocket__protected_path(path))
        return true;
    for (size_t i = 0; i < d->n_places; i++) {
        struct hocket__str place = hocket__permission_text(d, d->places[i]);
        /* Below it, or above it: moving a folder moves what is in it. */
        if (begins_with_path(path, place) || begins_with_path(place, path))
            return true;
    }
    return false;
}

/* Whether the text that it gets can make it do harm, or leave its bounds. */
static bool is_labelled(const struct hocket__permission_call *c)
{
    bool tells = c->labels & HOCKET__PRIVATE_TEXT && c->effects & TELLS;
    bool fetches = c->labels & HOCKET__OUR_OWN && c->effects & HOCKET__FETCHES;
    return (c->labels & HOCKET__STRANGE && (c->as_text || c->effects & REACHES_OUT)) || tells
           || (fetches && !c->known_host);
}

static void look_at_path(
    const struct asked *q, const struct hocket__permission_arg *arg, struct base *b)
{
    if (arg->kind == HOCKET__PLACE && !b->place.p && is_protected(q->d, arg->value))
        b->place = arg->value;
    bool strange = q->call->labels & HOCKET__STRANGE;
    if (arg->kind == HOCKET__PLACE
        && (hocket__run_unasked_path(arg->value) || (strange && hocket__obeyed_path(arg->value))))
        b->obeyed = arg->value;
    if (arg->kind == HOCKET__READ && hocket__credential_path(arg->value))
        b->credential = arg->value;
}

static struct base base_of(const struct asked *q)
{
    const struct hocket__permission_call *c = q->call;
    struct base b = { .verdict = c->effects & DOES ? HOCKET__ASK : HOCKET__ALLOW };
    b.always = c->effects & HOCKET__OPENS;
    b.labelled = is_labelled(c);
    for (size_t i = 0; i < c->n_args; i++)
        look_at_path(q, &c->args[i], &b);
    if (b.labelled || b.obeyed.p || b.credential.p)
        b.verdict = HOCKET__ASK;
    return b;
}

/* Where the text of the conversation comes from. */
static void say_labels(unsigned labels, struct hocket__buf *out)
{
    static const char *const from[] = { " the web", " outside of the project", " other servers",
        " files or programs" };
    const char *comma = "";
    if (!(labels & 15))
        return;
    hocket__buf_adds(out, ", and the conversation has text from");
    for (unsigned bit = 0; bit < 4; bit++)
        if (labels & (1u << bit)) {
            hocket__buf_addf(out, "%s%s", comma, from[bit]);
            comma = ",";
        }
}

static void say_path(struct hocket__str path, const char *what, struct hocket__buf *out)
{
    hocket__buf_addf(out, "'%.*s' %s", (int) path.n, path.p, what);
}

static void say_base(const struct asked *q, const struct base *b, struct hocket__buf *out)
{
    static const struct {
        unsigned effect;
        const char *text;
    } does[] = {
        { HOCKET__OPENS, "opens something in front of the user" },
        { HOCKET__RUNS, "runs a program" },
        { HOCKET__ELSEWHERE, "changes something outside of the project" },
        { HOCKET__WRITES, "changes files" },
        { HOCKET__SENDS | HOCKET__FETCHES, "sends a request" },
        { HOCKET__READS, "reads files" },
    };
    size_t i = 0;
    while (i < 5 && !(q->call->effects & does[i].effect))
        i++;
    if (b->credential.p)
        say_path(b->credential, "may hold keys", out);
    else if (b->obeyed.p)
        say_path(b->obeyed, "is run or obeyed by other programs", out);
    else
        hocket__buf_addf(out, "it %s", q->call->as_text ? "was written as text" : does[i].text);
    if (b->labelled || b->obeyed.p)
        say_labels(q->call->labels, out);
}

/* ---- All together -------------------------------------------------------------------- */

/* What a layer of people's says: whether it has said anything of the call, and what it lifts. */
struct word {
    bool spoke, general, tool, place, credential;
};

/* Operators, there may be several, and the run. */
struct people {
    struct word word;          /* what all of them grant */
    enum hocket__verdict mode; /* the strictest */
};

/* Whoever has said nothing stands in nobody's way, and grants nothing. */
static struct word both(struct word a, struct word b)
{
    if (!a.spoke || !b.spoke)
        return a.spoke ? a : b;
    return (struct word){ true, a.general && b.general, a.tool && b.tool, a.place && b.place,
        a.credential && b.credential };
}

static void hear(
    struct people *p, const struct hocket__permission_layer *l, const struct finding *f)
{
    if (l->kind == HOCKET__AGENT)
        return;
    struct word w = { .spoke = l->mode || f->verdict,
        .general = l->mode == HOCKET__ALLOW || f->verdict == HOCKET__ALLOW,
        .tool = f->allows_tool,
        .place = f->allows_place,
        .credential = f->allows_credential };
    p->word = both(p->word, w);
    if (l->mode > p->mode)
        p->mode = l->mode;
}

static bool is_lifted(const struct base *b, const struct word *w)
{
    if (b->always || (b->credential.p && !w->credential) || (b->obeyed.p && !w->place))
        return false;
    return b->labelled ? w->tool : w->general || w->tool;
}

struct outcome {
    enum hocket__verdict verdict;
    const struct hocket__permission_layer *layer; /* NULL: the base */
    struct finding finding;
};

static struct outcome strictest(const struct asked *q, struct people *p)
{
    struct outcome o = { .verdict = HOCKET__ALLOW };
    for (size_t i = 0; i < q->d->n_layers; i++) {
        const struct hocket__permission_layer *l = &q->d->layers[i];
        struct finding f = look_up(q, l);
        hear(p, l, &f);
        if (f.verdict > o.verdict)
            o = (struct outcome){ f.verdict, l, f };
    }
    return o;
}

/* Whether the outcome is to be asked: the word of people also answers what an agent's file asks,
 * but not what people themselves want to be asked. */
static bool is_asked(const struct base *b, const struct outcome *o, const struct word *w)
{
    if (o->layer && o->layer->kind != HOCKET__AGENT)
        return true;
    if (!o->layer && b->verdict != HOCKET__ASK)
        return false;
    return !is_lifted(b, w);
}

static void say(const struct asked *q, const struct base *b, const struct outcome *o, bool lifted,
    struct hocket__buf *out)
{
    if (lifted)
        hocket__buf_adds(out, "approved beforehand");
    else if (o->layer && o->verdict != HOCKET__ALLOW)
        say_finding(q, o->layer, &o->finding, out);
    else if (o->verdict == HOCKET__ASK)
        say_base(q, b, out);
    else
        hocket__buf_adds(out, "needs no approval");
}

static bool is_each_time(const struct base *b, const struct outcome *o)
{
    bool people = o->layer && o->layer->kind != HOCKET__AGENT && !o->finding.unlisted;
    return b->always || b->credential.p || people;
}

enum hocket__verdict hocket__permission_decide(const struct hocket__permissions *d,
    const struct hocket__permission_call *call, bool *each_time, struct hocket__buf *reason)
{
    const char *why_not = NULL;
    struct asked q = { d, call, &why_not };
    struct people people = { .mode = HOCKET__SILENT };
    struct base b = base_of(&q);
    struct outcome o = strictest(&q, &people);
    *each_time = is_each_time(&b, &o);
    if (o.verdict == HOCKET__DENY) {
        say(&q, &b, &o, false, reason);
        return HOCKET__DENY;
    }
    if (b.place.p) {
        hocket__buf_addf(reason, "'%.*s' is a protected place", (int) b.place.n, b.place.p);
        return HOCKET__DENY;
    }
    bool asks = o.verdict == HOCKET__ASK || b.verdict == HOCKET__ASK;
    bool lifted = asks && !is_asked(&b, &o, &people.word);
    o.verdict = asks && !lifted ? HOCKET__ASK : HOCKET__ALLOW;
    say(&q, &b, &o, lifted, reason);
    if (o.verdict == HOCKET__ASK && people.mode == HOCKET__DENY) {
        hocket__buf_adds(reason, ", and nothing is approved in this run");
        return HOCKET__DENY;
    }
    return o.verdict;
}
