/* A model call as a Lua object. Its userdata has but a pointer, NULL once the call was released: calls come and go faster than the
 * collector, so that each is made where the last one was. */
#include "bind/llm/attempt.h"

#include "bind/util.h"

const char hocket__call_name[] = "hocket.llm_call";

struct hocket__attempt *hocket__check_call(lua_State *L, int arg)
{
    struct hocket__attempt **p = hocket__check_object(L, arg, hocket__call_name);
    luaL_argcheck(L, *p, arg, "this call has no reply, or no longer");
    return *p;
}

struct hocket__answer *hocket__check_answer(lua_State *L, int arg)
{
    struct hocket__attempt *a = hocket__check_call(L, arg);
    luaL_argcheck(L, a->answer.llm, arg, "this call has no reply, or no longer");
    return &a->answer;
}
