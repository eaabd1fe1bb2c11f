#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/list.h"

struct item {
    int value;
    struct hocket__list link;
};

static int sum_in_order(struct hocket__list *head)
{
    int sum = 0;
    for (struct hocket__list *l = head->next; l != head; l = l->next) {
        assert_ptr_equal(l->next->prev, l);
        sum = sum * 10 + hocket__container_of(l, struct item, link)->value;
    }
    return sum;
}

static void test_list(void **state)
{
    struct hocket__list head;
    struct item items[4];
    hocket__list_init(&head);
    assert_true(hocket__list_empty(&head));
    for (int i = 0; i < 4; i++) {
        items[i].value = i + 1;
        hocket__list_add(i == 3 ? &items[1].link : &head, &items[i].link);
    }
    assert_int_equal(sum_in_order(&head), 1423);
    hocket__list_del(&items[1].link);
    hocket__list_del(&items[1].link); /* linked to itself now */
    assert_int_equal(sum_in_order(&head), 143);
    hocket__list_del(&items[0].link);
    hocket__list_del(&items[2].link);
    hocket__list_del(&items[3].link);
    assert_true(hocket__list_empty(&head));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_list) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
