/* Saves (save.h has the format). What many runs have read stands in a save once: a thousand villagers of one
 * agent are a thousand conversations, and one agent. Reading makes of each run what export.h reads, one at a
 * time, so that there is one place that knows what a run must be. */
#include "store/save.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/pack.h"
#include "store/store_impl.h"

static const char head[] = "hocket save 2\n";
#define MAGIC   "hocket save "
#define VERSION (sizeof(MAGIC) - 1)

/* Of the runs with their texts in place, as they are put: a few bytes may name a large text many times. */
#define MAX_BYTES ((size_t) 1 << 30)

/* ---- Writing ---------------------------------------------------------------------------------- */

void hocket__saving_init(struct hocket__saving *w, const struct hocket_allocator *a)
{
    *w = (struct hocket__saving){ .n = 0 };
    hocket__buf_init(&w->texts, a, 0);
    hocket__map_init(&w->known, a);
}

void hocket__saving_deinit(struct hocket__saving *w)
{
    hocket__free(w->texts.a, w->places, w->cap * sizeof(*w->places));
    hocket__buf_deinit(&w->texts);
    hocket__map_deinit(&w->known);
}

static uint64_t key_of(struct hocket__str hash)
{
    char digits[17] = "";
    memcpy(digits, hash.p, hash.n < 16 ? hash.n : 16);
    return strtoull(digits, NULL, 16) | 1;
}

/* Where a text stands among the others. Hashes come from rows, and may lie: so the texts are compared. */
static int number_of(struct hocket__saving *w, const struct hocket__store_file *f, uint64_t *number)
{
    uint64_t key = key_of(f->hash);
    size_t at = w->texts.len, known = (size_t) (uintptr_t) hocket__map_get(&w->known, key);
    hocket__pack_str(&w->texts, f->hash);
    hocket__pack_str(&w->texts, f->text);
    if (w->texts.status < 0)
        return w->texts.status;
    struct hocket__saved_text is = { at, w->texts.len - at };
    const struct hocket__saved_text *was = known ? &w->places[known - 1] : NULL;
    if (was && was->len == is.len
        && memcmp(w->texts.data + was->at, w->texts.data + is.at, is.len) == 0) {
        hocket__buf_cut(&w->texts, at);
        *number = known - 1;
        return 0;
    }
    if (hocket__grow(w->texts.a, &w->places, &w->cap, w->n + 1, sizeof(*w->places)) < 0)
        return HOCKET_ENOMEM;
    w->places[ *number = w->n++] = is;
    return known ? 0 : hocket__map_set(&w->known, key, (void *) (uintptr_t) w->n);
}

/* A path is a text, too, with a hash of its own. */
static int number_of_path(struct hocket__saving *w, struct hocket__str path, uint64_t *number)
{
    static const uint64_t key[2];
    char hash[17];
    snprintf(hash, sizeof(hash), "%016llx", (unsigned long long) hocket__siphash(key, path));
    struct hocket__store_file f = { .hash = hocket__cstr(hash), .text = path };
    return number_of(w, &f, number);
}

/* The row without what is in other places: path and text are the numbers of texts. */
static int add_file(struct hocket__saving *w, struct hocket__buf *run, struct hocket__store_row row)
{
    uint64_t number, path;
    struct hocket__buf numbers;
    int rc = number_of(w, &row.file, &number);
    if (rc == 0)
        rc = number_of_path(w, row.file.path, &path);
    if (rc < 0)
        return rc;
    hocket__buf_init(&numbers, run->a, 0);
    hocket__pack_num(&numbers, number);
    hocket__pack_num(&numbers, path);
    row.file = (struct hocket__store_file){ .generation = HOCKET__STR(""),
        .path = HOCKET__STR(""),
        .hash = HOCKET__STR(""),
        .text = hocket__buf_str(&numbers) };
    rc = numbers.status < 0 ? numbers.status : hocket__store_pack(run, &row);
    hocket__buf_deinit(&numbers);
    return rc;
}

static int add_run(struct hocket__buf *run, struct hocket__store_row row, uint64_t told)
{
    if (hocket__store_has_ended(row.run.state))
        return HOCKET_ESTATE;
    row.run.last_seq = told > row.run.last_seq ? told : row.run.last_seq;
    return hocket__store_pack(run, &row);
}

int hocket__saving_add(
    struct hocket__saving *w, struct hocket__buf *run, struct hocket__str piece, uint64_t told)
{
    size_t n = sizeof(HOCKET__EXPORT_HEAD) - 1;
    struct hocket__store_row row;
    if ((unsigned char) piece.p[0] == HOCKET__EXPORT_END)
        return 0;
    struct hocket__str rest = run->len == 0 ? hocket__str(piece.p + n, piece.n - n) : piece;
    if (hocket__store_unpack(&rest, &row) != 1)
        return HOCKET_EPARSE;
    switch (row.kind) {
    case HOCKET__STORE_ROW_RUN: return add_run(run, row, told);
    case HOCKET__STORE_ROW_FILE: return add_file(w, run, row);
    default: return hocket__buf_addstr(run, piece);
    }
}

static void sum(struct hocket__saving *w, const struct hocket__buf *out, size_t from)
{
    if (out->status == 0)
        hocket__sha256_add(&w->sha, hocket__str(out->data + from, out->len - from));
}

void hocket__saving_begin(struct hocket__saving *w, struct hocket__buf *out)
{
    hocket__sha256_init(&w->sha);
    hocket__buf_lit(out, head);
    sum(w, out, 0);
}

void hocket__saving_put(
    struct hocket__saving *w, const struct hocket__buf *run, struct hocket__buf *out)
{
    size_t from = out->len;
    hocket__pack_str(out, hocket__buf_str(run));
    sum(w, out, from);
}

void hocket__saving_close(struct hocket__saving *w, struct hocket__buf *out)
{
    uint8_t digest[HOCKET__SHA256];
    size_t from = out->len;
    hocket__pack_num(out, 0);
    hocket__pack_num(out, w->n);
    hocket__buf_addstr(out, hocket__buf_str(&w->texts));
    sum(w, out, from);
    hocket__sha256_end(&w->sha, digest);
    hocket__buf_add(out, (const char *) digest, sizeof(digest));
}

/* ---- Reading ------------------------------------------------------------------------------------ */

static int damaged(struct hocket_error *err, const char *what)
{
    return hocket__error(err, HOCKET_EPARSE, "this is no whole save of hocket's: %s", what);
}

static int check_head(struct hocket__str bytes, struct hocket_error *err)
{
    size_t n = sizeof(head) - 1;
    if (bytes.n < n || memcmp(bytes.p, MAGIC, VERSION) != 0)
        return damaged(err, "it does not begin as one");
    if (memcmp(bytes.p, head, n) != 0)
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "this save was written by another hocket, in a format that this one does not know");
    return 0;
}

static int check_sum(struct hocket__str bytes, struct hocket_error *err)
{
    uint8_t digest[HOCKET__SHA256];
    if (bytes.n < sizeof(head) - 1 + sizeof(digest))
        return damaged(err, "its end is missing");
    hocket__sha256(hocket__str(bytes.p, bytes.n - sizeof(digest)), digest);
    return memcmp(bytes.p + bytes.n - sizeof(digest), digest, sizeof(digest)) == 0
               ? 0
               : damaged(err, "its checksum does not fit: it was cut off or changed");
}

static int read_files(struct hocket__saved *r, struct hocket__packed *in)
{
    uint64_t count = hocket__unpack_num(in);
    for (; count > 0 && !in->bad; count--) {
        struct hocket__saved_file file = { hocket__unpack_str(in), HOCKET__STR("") };
        file.text = hocket__unpack_str(in);
        if (hocket__grow(r->a, &r->files, &r->cap, r->n_files + 1, sizeof(file)) < 0)
            return HOCKET_ENOMEM;
        r->files[r->n_files++] = file;
    }
    return 0;
}

/* Up to the empty one. */
static void read_runs(struct hocket__saved *r, struct hocket__packed *in)
{
    r->runs = hocket__str(in->p, (size_t) (in->end - in->p));
    while (hocket__unpack_str(in).n > 0)
        r->count++;
}

int hocket__saved_open(struct hocket__saved *r, struct hocket__str bytes,
    const struct hocket_allocator *a, struct hocket_error *err)
{
    size_t n = sizeof(head) - 1;
    *r = (struct hocket__saved){ .a = a };
    int rc = check_head(bytes, err);
    if (rc == 0)
        rc = check_sum(bytes, err);
    if (rc < 0)
        return rc;
    struct hocket__packed in =
        hocket__packed(hocket__str(bytes.p + n, bytes.n - n - HOCKET__SHA256));
    read_runs(r, &in);
    rc = read_files(r, &in);
    if (rc == 0 && !in.bad && in.p == in.end && r->count > 0)
        return 0;
    hocket__saved_close(r);
    return rc == HOCKET_ENOMEM ? hocket__error_nomem(err)
                               : damaged(err, "its parts do not fit together");
}

void hocket__saved_close(struct hocket__saved *r)
{
    hocket__free(r->a, r->files, r->cap * sizeof(*r->files));
    *r = (struct hocket__saved){ .a = r->a };
}

/* Whoever wrote it may be of another minor version. */
static bool is_of_ours(struct hocket__str version)
{
    const char *ours = HOCKET_VERSION;
    size_t n = (size_t) (strchr(ours, '.') - ours) + 1;
    return version.n > n && memcmp(version.p, ours, n) == 0;
}

static const char *place_file(const struct hocket__saved *r, struct hocket__store_file *file)
{
    struct hocket__packed in = hocket__packed(file->text);
    uint64_t number = hocket__unpack_num(&in);
    uint64_t path = hocket__unpack_num(&in);
    if (in.bad || number >= r->n_files || path >= r->n_files)
        return "a text of it is missing";
    file->path = r->files[path].text;
    file->hash = r->files[number].hash;
    file->text = r->files[number].text;
    return NULL;
}

/* A run with its texts in place, as hocket__store_import takes it; what it must be is checked there. */
static int expand(const struct hocket__saved *r, struct hocket__str rows, struct hocket__buf *out,
    uint64_t *told, struct hocket_error *err)
{
    struct hocket__str generation = HOCKET__STR("");
    struct hocket__store_row row;
    const char *wrong = NULL;
    hocket__buf_lit(out, HOCKET__EXPORT_HEAD);
    while (!wrong && rows.n > 0 && out->status == 0) {
        if (hocket__store_unpack(&rows, &row) != 1)
            return damaged(err, "a part of it is damaged");
        if (row.kind == HOCKET__STORE_ROW_RUN) {
            generation = row.run.generation;
            *told = row.run.last_seq;
            if (!is_of_ours(row.run.version))
                return hocket__error(err, HOCKET_EUNSUPPORTED,
                    "this save is of another hocket (%.*s), and this one is %s",
                    (int) (row.run.version.n < 32 ? row.run.version.n : 32), row.run.version.p,
                    HOCKET_VERSION);
            wrong = hocket__store_has_ended(row.run.state) ? "a run of it has ended" : NULL;
        } else if (row.kind == HOCKET__STORE_ROW_FILE) {
            row.file.generation = generation;
            wrong = place_file(r, &row.file);
        }
        hocket__store_pack(out, &row);
    }
    hocket__store_export_close(out);
    return wrong                          ? damaged(err, wrong)
           : out->status == HOCKET_ELIMIT ? hocket__error(err, HOCKET_ELIMIT,
                 "this save is larger than %zu bytes when its texts are in place", MAX_BYTES)
           : out->status < 0              ? hocket__error_nomem(err)
                                          : 0;
}

static int put_one(const struct hocket__saved *r, struct hocket__store *s, struct hocket__str rows,
    struct hocket__saved_run *run, struct hocket__buf *out, struct hocket_error *err)
{
    struct hocket__store_claim claim;
    hocket__buf_reset(out);
    int rc = expand(r, rows, out, &run->told, err);
    if (rc == 0)
        rc = hocket__store_import(s, hocket__buf_str(out), run->id, &claim, err);
    if (rc < 0)
        return rc;
    out->max -= out->len;
    s->unlimited = true; /* as the import was */
    rc = hocket__store_release(s, &claim);
    s->unlimited = false;
    return rc < 0 ? hocket__error(err, rc, "the run could not be put into the store") : 0;
}

int hocket__saved_put(const struct hocket__saved *r, struct hocket__store *s,
    struct hocket__saved_run *runs, size_t *before, struct hocket_error *err)
{
    struct hocket__packed in = hocket__packed(r->runs);
    struct hocket__buf out;
    int rc = 0;
    *before = s->batch.len;
    hocket__buf_init(&out, r->a, MAX_BYTES);
    for (size_t i = 0; rc == 0 && i < r->count; i++)
        rc = put_one(r, s, hocket__unpack_str(&in), &runs[i], &out, err);
    hocket__buf_deinit(&out);
    if (rc < 0)
        hocket__store_rewind(s, *before);
    return rc;
}
