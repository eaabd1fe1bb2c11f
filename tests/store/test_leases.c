/* Which leases are believed, and when ours are renewed: by a database that says what a test wants. */
#include "store/writer/thread.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "os/clock.h"

#define LEASE 60000
#define NOW   INT64_C(1700000000000)
#define HOUR  (INT64_C(3600) * 1000)

static struct {
    struct hocket__writer w;
    struct hocket__writer_store q;
    struct hocket_error error;
    int64_t now;
    int renewals, status;
} t;

static int64_t now(const struct hocket__writer *w)
{
    (void) w;
    return t.now;
}

static int renew(struct hocket__writer *w)
{
    (void) w;
    t.renewals++;
    return t.status;
}

static const struct hocket__writer_ops ops = { .now = now, .renew = renew };

static int setup(void **state)
{
    (void) state;
    memset(&t, 0, sizeof(t));
    t.now = NOW;
    t.q.w = &t.w;
    t.w = (struct hocket__writer){
        .ops = &ops, .store = &t.q, .error = &t.error, .o.lease_ms = LEASE
    };
    hocket__list_init(&t.w.claims);
    hocket__map_init(&t.w.claimed, &hocket__malloc);
    hocket__leases_init(&t.w);
    t.w.leases.until_ms = 0; /* as if it were open for long */
    return 0;
}

static int teardown(void **state)
{
    (void) state;
    hocket__claims_free(&t.w);
    return 0;
}

/* Goes on, and says whether that took longer than it meant to. */
static void sleep_for(int64_t planned_ms, int64_t ms)
{
    int64_t end = hocket__monotonic_ms();
    hocket__leases_slept(&t.w, end - planned_ms, end);
    t.now += ms;
}

static void all_is_believed_of_who_is_at_work(void **state)
{
    (void) state;
    for (int i = 0; i < 10; i++) {
        sleep_for(600000, 600000); /* for as long as it meant to */
        assert_int_equal(hocket__leases_expired_before(&t.w), INT64_MAX);
        t.now += 500; /* and what it does takes its time */
        hocket__leases_answered(&t.w, i % 2);
        assert_int_equal(hocket__leases_expired_before(&t.w), INT64_MAX);
    }
    t.now -= HOUR; /* a clock that is put back ends no lease */
    hocket__leases_answered(&t.w, 0);
    assert_int_equal(hocket__leases_expired_before(&t.w), INT64_MAX);
}

/* It knows nothing of what was before: but for those that were seen to have ended. */
static void who_begins_is_patient(void **state)
{
    (void) state;
    hocket__leases_init(&t.w);
    hocket__leases_answered(&t.w, 0);
    assert_int_equal(hocket__leases_expired_before(&t.w), HOCKET__QUEUE_BURIED);
    assert_true(t.w.leases.until_ms - hocket__monotonic_ms() <= LEASE / 2);
}

static void what_ended_while_nobody_could_is_not_believed(void **state)
{
    (void) state;
    sleep_for(500, HOUR); /* the machine slept */
    assert_int_equal(hocket__leases_expired_before(&t.w), NOW + 500);
    hocket__leases_answered(&t.w, 0);
    assert_int_equal(hocket__leases_expired_before(&t.w), NOW + 500);
    t.now += 5000;
    hocket__leases_answered(&t.w, 0);
    assert_int_equal(hocket__leases_expired_before(&t.w), NOW + 500);
    sleep_for(500, HOUR); /* and again: what was not believed then is not now */
    hocket__leases_answered(&t.w, 0);
    assert_int_equal(hocket__leases_expired_before(&t.w), NOW + 500);
    t.w.leases.until_ms = 0; /* they have had their time */
    assert_int_equal(hocket__leases_expired_before(&t.w), INT64_MAX);
}

/* However short each sleep between two tries, and whatever they take. */
static void a_database_that_was_away_is_a_lapse(void **state)
{
    (void) state;
    for (int i = 0; i < 200; i++) {
        hocket__leases_answered(&t.w, HOCKET_EIO);
        sleep_for(500, 500);
    }
    assert_int_equal(hocket__leases_expired_before(&t.w), NOW);
    hocket__leases_answered(&t.w, 0);
    assert_int_equal(hocket__leases_expired_before(&t.w), NOW);
    t.w.leases.until_ms = 0;
    hocket__leases_answered(&t.w, HOCKET_EIO); /* for a moment */
    sleep_for(500, 500);
    hocket__leases_answered(&t.w, 0);
    assert_int_equal(hocket__leases_expired_before(&t.w), INT64_MAX);
}

/* One that is slow all the time takes what was lost all the same. */
static void waiting_ends(void **state)
{
    (void) state;
    for (int i = 0; i < 100; i++) {
        sleep_for(0, LEASE);
        hocket__leases_answered(&t.w, 0);
        assert_true(t.w.leases.until_ms <= t.w.leases.begun_ms + LEASE);
    }
}

static void ours_are_renewed_in_time(void **state)
{
    (void) state;
    hocket__leases_poll(&t.w);
    t.now += HOUR;
    assert_int_equal(hocket__leases_renew(&t.w), 0);
    assert_int_equal(t.renewals, 0); /* there are none */
    assert_non_null(hocket__claims_need(&t.w, "01KANC3V0QZJ9E4W2X6T8B5M7R"));
    assert_int_equal(hocket__leases_renew(&t.w), 0);
    assert_int_equal(t.renewals, 1);
    assert_true(t.w.next_renewal_ms - hocket__monotonic_ms() > 1000);
    t.now += LEASE / 3 - 1;
    hocket__leases_poll(&t.w);
    assert_int_equal(hocket__leases_renew(&t.w), 0);
    assert_int_equal(t.renewals, 1);
    t.now += 1; /* by that clock alone: this one stood still */
    hocket__leases_poll(&t.w);
    assert_int_equal(t.renewals, 2);
    t.now -= HOUR;
    hocket__leases_poll(&t.w);
    assert_int_equal(t.renewals, 3);
}

/* Who wants a run hears it at once; what nobody waits for is tried again a second later. */
static void what_could_not_be_renewed_is_tried_again(void **state)
{
    (void) state;
    assert_non_null(hocket__claims_need(&t.w, "01KANC3V0QZJ9E4W2X6T8B5M7R"));
    t.now += LEASE;
    t.status = HOCKET_EIO;
    assert_int_equal(hocket__leases_renew(&t.w), HOCKET_EIO);
    assert_true(t.w.next_renewal_ms - hocket__monotonic_ms() <= 1000);
    hocket__leases_poll(&t.w);
    assert_int_equal(t.renewals, 1);
    t.w.next_renewal_ms = 0;
    t.status = 1; /* not all of them */
    hocket__leases_poll(&t.w);
    assert_int_equal(t.renewals, 2);
    assert_true(t.w.next_renewal_ms - hocket__monotonic_ms() <= 1000);
    t.status = 0;
    assert_int_equal(hocket__leases_renew(&t.w), 0);
    assert_int_equal(t.renewals, 3);
    assert_true(t.w.next_renewal_ms - hocket__monotonic_ms() > 1000);
}

static void nothing_is_asked_for_nothing(void **state)
{
    (void) state;
    t.w.next_renewal_ms = 0;
    hocket__leases_answered(&t.w, HOCKET_EIO);
    hocket__leases_poll(&t.w);
    assert_int_equal(t.renewals, 0);
    assert_non_null(hocket__claims_need(&t.w, "01KANC3V0QZJ9E4W2X6T8B5M7R"));
    hocket__leases_poll(&t.w);
    assert_int_equal(t.renewals, 1);
    t.w.next_renewal_ms = 0;
    atomic_store(&t.w.closing, true); /* it lets go of them */
    hocket__leases_poll(&t.w);
    assert_int_equal(t.renewals, 1);
}

static void far_leases_are_looked_for_now_and_then(void **state)
{
    (void) state;
    assert_true(hocket__leases_horizon(&t.w) > 1000 * HOUR);
    assert_int_equal(hocket__leases_horizon(&t.w), LEASE);
    t.w.leases.next_far_ms = 0;
    assert_true(hocket__leases_horizon(&t.w) > 1000 * HOUR);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(all_is_believed_of_who_is_at_work),
        TEST(who_begins_is_patient),
        TEST(what_ended_while_nobody_could_is_not_believed),
        TEST(a_database_that_was_away_is_a_lapse),
        TEST(waiting_ends),
        TEST(ours_are_renewed_in_time),
        TEST(what_could_not_be_renewed_is_tried_again),
        TEST(nothing_is_asked_for_nothing),
        TEST(far_leases_are_looked_for_now_and_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
