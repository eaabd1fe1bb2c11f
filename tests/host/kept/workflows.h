/* The workflows that runs that are kept are tried with, one and more for each pattern, and the world that they change:
 * a file of letters and a book. test_kept.c cuts their logs in memory, test_torture.c kills them over a file. */
#pragma once

#include <glob.h>

#include "host/kept/lives.h"
#include "support/temp.h"

/* ---- What was done to the world ------------------------------------------------------------------ */

static char letters[TEST_TEMP_PATH];

static inline bool digest_has(const struct hocket__log_entry *e, const char *line)
{
    return e->digest.n > 0 && memmem(e->digest.p, e->digest.n, line, strlen(line));
}

/* The file as the first life may have left it when it was killed behind n entries: whatever it had begun was
 * done, as far as nobody can know. Lines that may stand there twice are left out. */
static inline void letters_of(const struct kept_log *log, size_t n)
{
    FILE *f = fopen(letters, "w");
    assert_non_null(f);
    int posts = 0;
    for (size_t i = 0; i < n; i++) {
        struct hocket__log_entry e = entry_at(log, i);
        if (e.kind != HOCKET__LOG_BEGIN)
            continue;
        if (digest_has(&e, "tool=post"))
            fprintf(f, "post %s\n", posts++ == 0 ? "a" : "d");
        if (digest_has(&e, "step=seal"))
            fprintf(f, "post seal\n");
    }
    fclose(f);
}

static inline int count_line(const char *line)
{
    char text[256];
    int n = 0;
    FILE *f = fopen(letters, "r");
    assert_non_null(f);
    while (fgets(text, sizeof(text), f)) {
        text[strcspn(text, "\n")] = 0;
        n += strcmp(text, line) == 0;
    }
    fclose(f);
    return n;
}

static inline void check_letters(const char *name, size_t n)
{
    static const char *const once[] = { "post a", "post d", "post seal", NULL };
    for (int i = 0; once[i]; i++)
        if (count_line(once[i]) != 1)
            fail_msg(
                "%s, %zu entries: '%s' was done %d times", name, n, once[i], count_line(once[i]));
}

/* ---- Who was asked ------------------------------------------------------------------------------- */

enum { ASKED = 64, ASKED_BYTES = 96 };
static char asked_lines[ASKED][ASKED_BYTES]; /* of an undisturbed run, each with how often */
static int asked_times[ASKED], asked_n;

/* A field of an entry's digest. */
static inline void field_of(
    const struct hocket__log_entry *e, const char *name, char out[ASKED_BYTES / 3])
{
    char text[1024];
    snprintf(text, sizeof(text), "\n%.*s\n", (int) e->digest.n, e->digest.p);
    char *from = strstr(text, name);
    out[0] = 0;
    if (!from)
        return;
    from += strlen(name);
    from[strcspn(from, "\n")] = 0;
    snprintf(out, ASKED_BYTES / 3, "%.*s", ASKED_BYTES / 3 - 1, from);
}

/* What a hook or a guard writes into the letters when it is asked, of the entry that begins it. A run's target is a path, of
 * which a digest keeps a hash where it is long. */
static inline bool asked_line(const struct hocket__log_entry *e, char out[ASKED_BYTES])
{
    char point[ASKED_BYTES / 3], of[ASKED_BYTES / 3];
    bool is_hook = e->name.n == 4 && memcmp(e->name.p, "hook", 4) == 0;
    bool is_guard = e->name.n == 5 && memcmp(e->name.p, "guard", 5) == 0;
    if (e->kind != HOCKET__LOG_BEGIN || !(is_hook || is_guard))
        return false;
    field_of(e, "\npoint=", point);
    field_of(e, is_hook ? "\nof=" : "\nagent=", of);
    bool of_run = strcmp(point, "before_run") == 0 || strcmp(point, "after_run") == 0;
    snprintf(
        out, ASKED_BYTES, "%s%s %s", is_hook ? "hook " : "guard", point, of_run ? "main.lua" : of);
    return true;
}

static inline bool was_answered(
    const struct kept_log *log, size_t n, const struct hocket__log_entry *begin)
{
    for (size_t i = 0; i < n; i++) {
        struct hocket__log_entry e = entry_at(log, i);
        if (e.kind == HOCKET__LOG_END && e.path == begin->path && e.ord == begin->ord)
            return true;
    }
    return false;
}

/* Who had decided by then was asked; who had not is asked by the next life. */
static inline void letters_of_asked(const struct kept_log *log, size_t n)
{
    letters_of(log, n);
    FILE *f = fopen(letters, "a");
    assert_non_null(f);
    for (size_t i = 0; i < n; i++) {
        char line[ASKED_BYTES];
        struct hocket__log_entry e = entry_at(log, i);
        if (asked_line(&e, line) && was_answered(log, n, &e))
            fprintf(f, "%s\n", line);
    }
    fclose(f);
}

static inline void note_asked(void)
{
    char line[ASKED_BYTES];
    FILE *f = fopen(letters, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        int i = 0;
        line[strcspn(line, "\n")] = 0;
        while (i < asked_n && strcmp(asked_lines[i], line) != 0)
            i++;
        assert_true(i < ASKED);
        if (i == asked_n)
            snprintf(asked_lines[asked_n++], ASKED_BYTES, "%s", line);
        asked_times[i]++;
    }
    fclose(f);
}

static inline void check_asked(const char *name, size_t n)
{
    if (asked_n == 0)
        note_asked();
    assert_true(asked_n > 10);
    for (int i = 0; i < asked_n; i++)
        if (count_line(asked_lines[i]) != asked_times[i])
            fail_msg("%s, %zu entries: '%s' %d times, and not %d", name, n, asked_lines[i],
                count_line(asked_lines[i]), asked_times[i]);
    check_letters(name, n);
}

/* ---- Files ------------------------------------------------------------------------------------- */

static char folder[TEST_TEMP_PATH], book[TEST_TEMP_PATH + 16], folder_options[TEST_TEMP_PATH + 64];

static inline void book_of(const struct kept_log *log, size_t n)
{
    const char *text = NULL;
    for (size_t i = 0; i < n; i++) {
        struct hocket__log_entry e = entry_at(log, i);
        if (e.kind == HOCKET__LOG_BEGIN && digest_has(&e, "tool=write_file"))
            text = "one\ntwo\n";
        if (e.kind == HOCKET__LOG_BEGIN && digest_has(&e, "tool=edit_file"))
            text = "one\nthree\n";
    }
    unlink(book);
    FILE *f = text ? fopen(book, "w") : NULL;
    if (f) {
        fputs(text, f);
        fclose(f);
    }
}

static inline void check_book(const char *name, size_t n)
{
    char text[64] = "";
    FILE *f = fopen(book, "r");
    if (f) {
        text[fread(text, 1, sizeof(text) - 1, f)] = 0;
        fclose(f);
    }
    if (strcmp(text, "one\nthree\n") != 0)
        fail_msg("%s, %zu entries: the book is '%s'", name, n, text);
}

/* The same of a life that may have ended between an intent and what it was for: then nobody knows, and the model is told
 * so, which this one does nothing about. */
static inline void check_book_as_far(const char *name, size_t n)
{
    char text[64] = "";
    FILE *f = fopen(book, "r");
    if (f) {
        text[fread(text, 1, sizeof(text) - 1, f)] = 0;
        fclose(f);
    }
    if (*text && strcmp(text, "one\ntwo\n") != 0 && strcmp(text, "one\nthree\n") != 0)
        fail_msg("%s, %zu entries: the book is '%s'", name, n, text);
}

static inline void make_folder(void)
{
    assert_true(test_temp_dir(folder));
    snprintf(book, sizeof(book), "%s/book.txt", folder);
    snprintf(folder_options, sizeof(folder_options), "{\"workdir\":\"%s\",\"approve\":[\"allow\"]}",
        folder);
}

/* ---- Workflows ------------------------------------------------------------------------------- */

static const struct workflow workflows[] = {
    { .name = "router", EXAMPLES "/router/agents", "I was charged twice", "{}" },
    { .name = "advisors", EXAMPLES "/advisors/agents", "Move the customer list", "{}" },
    { .name = "handoff",
        EXAMPLES "/handoff/agents",
        "announce: the library opens on Sundays",
        "{}" },
    { .name = "desk", EXAMPLES "/desk/agents", "The lamp of order 4711 is broken", "{}" },
    { .name = "team", EXAMPLES "/team/agents", "Should users stay logged in?", "{}" },
    { .name = "delegation", EXAMPLES "/delegation/agents", "Why do cities plant trees?", "{}" },
    { .name = "background", EXAMPLES "/background/agents", "Why trees?", "{}" },
    { .name = "plan", EXAMPLES "/plan/plan.lua", "A garden party", "{}" },
    { .name = "alternates", EXAMPLES "/build/build.lua", "A garden house", "{}" },
    { .name = "facilitator", EXAMPLES "/travel/agents", "Three days in Lisbon", "{}" },
    { .name = "workflow",
        EXAMPLES "/workflow/workflows/audit.lua",
        "{\"files\": [\"a.txt\", \"b.txt\", \"c.txt\"]}",
        "{}" },
    { .name = "tools",
        HERE "/scripts/tools.lua",
        letters,
        "{}",
        .before = letters_of,
        .after = check_letters,
        .loose = true /* where a tool does not know, the model reads more */ },
    { .name = "ask",
        HERE "/scripts/ask.lua",
        NULL,
        "{\"interactive\":true}",
        .answers = { "Lisbon", "hills", "sea", NULL, "4" } },
    { .name = "flows",
        HERE "/scripts/flows.lua",
        HERE "/scripts/flows.lua",
        "{\"deltas\":true}",
        .loose = true /* what lost a race was under way, or not */ },
    { .name = "listeners", HERE "/scripts/listen.lua", NULL, "{}" },
    { .name = "at once", HERE "/scripts/once.lua", NULL, "{}" },
    { .name = "talk", HERE "/scripts/talk.lua", NULL, "{}" },
    { .name = "signals",
        HERE "/scripts/signals.lua",
        NULL,
        "{}",
        .signals = { "{\"n\":1}", "\"two\"", NULL, "[3]" } },
    /* Limits of its waits are times of day. */
    { .name = "signals of one that may be put away",
        HERE "/scripts/signals.lua",
        NULL,
        "{\"park\":true}",
        .signals = { "{\"n\":1}", "\"two\"", NULL, "[3]" } },
    { .name = "alone", HERE "/scripts/alone.lua", NULL, "{}" },
    { .name = "nested", HERE "/team/main.lua", NULL, "{}" },
    { .name = "chat",
        EXAMPLES "/chat/agents",
        NULL,
        "{\"conversation\":true}",
        .answers = { "A table for four, please", "Thank you", "" } },
    { .name = "long", HERE "/scripts/long.lua", NULL, "{}" },
    { .name = "hooks",
        HERE "/hooked/main.lua",
        letters,
        "{}",
        .before = letters_of_asked,
        .after = check_asked,
        .loose = true },
    { .name = "files",
        HERE "/scripts/files.lua",
        NULL,
        folder_options,
        .before = book_of,
        .after = check_book,
        .loose = true },
    { .name = NULL },
};

static inline void make_world(void)
{
    assert_true(test_temp_file(letters, ".txt", ""));
    make_folder();
}

static inline void unlink_all(const char *pattern)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            unlink(found.gl_pathv[i]);
    globfree(&found);
}

static inline void end_world(void)
{
    char killed[TEST_TEMP_PATH + 32]; /* what a life that was killed was writing */
    snprintf(killed, sizeof(killed), "%s/.hocket-*.tmp", folder);
    unlink_all(killed);
    unlink(letters);
    unlink(book);
    rmdir(folder);
}
