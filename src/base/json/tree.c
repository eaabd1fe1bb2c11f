/* Two passes of the strict reader: one checks the text and counts, the other builds into one
 * block of exactly that size. So a hostile text is refused before anything is allocated for
 * it. */
#include "base/json/tree.h"

#include "base/json/write.h"
#include "base/num/num.h"

#include <cJSON.h>

#define PUBLIC_DEPTH 256

/* cJSON's node holds the type, the links and the value; ours adds what it has no room
 * for. cJSON comes first, so that a link to one is a link to the other. */
struct hocket_json {
    cJSON item;
    struct hocket_json *parent;
    struct hocket_json **index; /* children: an array's in order, an object's by name */
    size_t n;                   /* of children, or the length of a string or a number's text */
    size_t name_len;
};

/* nodes[], then the pointers of all indexes, then the bytes of all texts. */
struct tree {
    const struct hocket_allocator *a;
    size_t size;
    struct hocket_json nodes[];
};

struct builder {
    struct hocket__json r;
    struct hocket_json *node;   /* next to give out */
    struct hocket_json **index; /* likewise */
    char *text;                 /* likewise */
    struct hocket_json *parent; /* what is open */
    struct hocket__str name;    /* of the value to come */
};

static struct hocket_json *from_item(cJSON *item)
{
    return (struct hocket_json *) (void *) item;
}

/* ---- Building ---- */

static bool has_text(enum hocket__json_token token)
{
    return token == HOCKET__JSON_KEY || token == HOCKET__JSON_STRING
           || token == HOCKET__JSON_NUMBER;
}

static bool begins_value(enum hocket__json_token token)
{
    return token != HOCKET__JSON_KEY && token != HOCKET__JSON_ARRAY_END
           && token != HOCKET__JSON_OBJECT_END;
}

/* Checks the whole text, and counts what its tree takes.
 * By value: the reader is copied, so that the one for building begins anew. */
static int measure(struct hocket__json r, size_t *nodes, size_t *bytes, struct hocket_error *err)
{
    enum hocket__json_token token;
    *nodes = *bytes = 0;
    while ((token = hocket__json_next(&r)) != HOCKET__JSON_END && token != HOCKET__JSON_ERROR) {
        *nodes += begins_value(token);
        if (has_text(token))
            *bytes += r.text.n + 1;
    }
    return hocket__json_end(&r, err);
}

/* Decoding never makes a text longer, so that its place suffices. */
static struct hocket__str keep_text(struct builder *b)
{
    struct hocket__buf place = { .data = b->text, .cap = b->r.text.n + 1, .max = b->r.text.n };
    if (b->r.token == HOCKET__JSON_NUMBER)
        hocket__buf_addstr(&place, b->r.text);
    else
        hocket__json_decode(&b->r, &place);
    place.data[place.len] = 0;
    b->text += b->r.text.n + 1;
    return hocket__str(place.data, place.len);
}

static int item_type(enum hocket__json_token token)
{
    switch (token) {
    case HOCKET__JSON_FALSE: return cJSON_False;
    case HOCKET__JSON_TRUE: return cJSON_True;
    case HOCKET__JSON_NUMBER: return cJSON_Number;
    case HOCKET__JSON_STRING: return cJSON_String;
    case HOCKET__JSON_ARRAY: return cJSON_Array;
    case HOCKET__JSON_OBJECT: return cJSON_Object;
    default: return cJSON_NULL;
    }
}

/* cJSON_AddItemToArray also for members of objects: its function for those would copy the name. */
static void add_value(struct builder *b)
{
    struct hocket_json *node = b->node++;
    *node = (struct hocket_json){ .parent = b->parent, .name_len = b->name.n };
    node->item.type = item_type(b->r.token);
    node->item.string = (char *) b->name.p;
    b->name = hocket__str(NULL, 0);
    if (has_text(b->r.token)) {
        struct hocket__str text = keep_text(b);
        node->item.valuestring = (char *) text.p;
        node->n = text.n;
    }
    if (b->r.token == HOCKET__JSON_NUMBER)
        node->item.valuedouble = hocket__json_double(&b->r);
    if (b->parent) {
        cJSON_AddItemToArray(&b->parent->item, &node->item);
        b->parent->n++;
    }
    if (b->r.token == HOCKET__JSON_ARRAY || b->r.token == HOCKET__JSON_OBJECT)
        b->parent = node;
}

static int compare_names(struct hocket__str a, struct hocket__str b)
{
    int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

/* By name, and members of one name as they stand in the text. */
static bool is_before(const struct hocket_json *a, const struct hocket_json *b)
{
    int order = compare_names(hocket__tree_name(a), hocket__tree_name(b));
    return order ? order < 0 : a < b;
}

static void sift_down(struct hocket_json **v, size_t at, size_t n)
{
    struct hocket_json *moved = v[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && is_before(v[child], v[child + 1]);
        if (!is_before(moved, v[child]))
            break;
        v[at] = v[child];
    }
    v[at] = moved;
}

/* Heapsort: no memory and no bad case; the C library's qsort promises neither. */
static void sort_members(struct hocket_json **v, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(v, i, n);
    for (size_t i = n; i-- > 1;) {
        struct hocket_json *last = v[i];
        v[i] = v[0];
        v[0] = last;
        sift_down(v, 0, i);
    }
}

/* In a sorted index: of each name the last one stays. */
static void drop_duplicates(struct hocket_json *object)
{
    size_t kept = 0;
    for (size_t i = 0; i < object->n; i++) {
        struct hocket_json *v = object->index[i];
        bool stays =
            i + 1 == object->n
            || compare_names(hocket__tree_name(v), hocket__tree_name(object->index[i + 1])) != 0;
        if (stays)
            object->index[kept++] = v;
        else
            cJSON_DetachItemViaPointer(&object->item, &v->item);
    }
    object->n = kept;
}

/* A level's index is laid out when the level ends: inner ones end first, so that each has its
 * pointers in one row. */
static void close_parent(struct builder *b)
{
    struct hocket_json *parent = b->parent;
    size_t n = 0;
    parent->index = b->index;
    for (cJSON *item = parent->item.child; item; item = item->next)
        parent->index[n++] = from_item(item);
    b->index += n;
    if (cJSON_IsObject(&parent->item)) {
        sort_members(parent->index, n);
        drop_duplicates(parent);
    }
    b->parent = parent->parent;
}

static void build(struct builder *b)
{
    enum hocket__json_token token;
    while ((token = hocket__json_next(&b->r)) != HOCKET__JSON_END && token != HOCKET__JSON_ERROR) {
        if (token == HOCKET__JSON_KEY)
            b->name = keep_text(b);
        else if (begins_value(token))
            add_value(b);
        else
            close_parent(b);
    }
}

/* What could fail has by now: the text is known to be whole, and the block to be large enough. */
hocket_json *hocket__tree_new(const struct hocket_allocator *a, struct hocket__str text,
    int max_depth, struct hocket_error *err)
{
    struct builder b = { 0 };
    const size_t per_node = sizeof(struct hocket_json) + sizeof(struct hocket_json *);
    size_t nodes, bytes;
    hocket__json_init(&b.r, text);
    if (max_depth > 0 && max_depth < HOCKET__JSON_DEPTH)
        b.r.max_depth = (uint16_t) max_depth;
    if (measure(b.r, &nodes, &bytes, err) < 0)
        return NULL;
    if (nodes > (SIZE_MAX - sizeof(struct tree) - bytes) / per_node)
        return hocket__error_nomem(err), NULL;
    size_t size = sizeof(struct tree) + nodes * per_node + bytes;
    struct tree *tree = hocket__new(a, size);
    if (!tree)
        return hocket__error_nomem(err), NULL;
    tree->a = a;
    tree->size = size;
    b.node = tree->nodes;
    b.index = (struct hocket_json **) (void *) (tree->nodes + nodes);
    b.text = (char *) (b.index + nodes);
    build(&b);
    return tree->nodes;
}

hocket_json *hocket__tree_parse(struct hocket__str text, int max_depth, struct hocket_error *err)
{
    return hocket__tree_new(&hocket__malloc, text, max_depth, err);
}

hocket_json *hocket_json_parse(const char *text, size_t len, struct hocket_error *err)
{
    return hocket__tree_parse(hocket__str(text, len), PUBLIC_DEPTH, err);
}

/* The root is the first node, and so says where the block begins. Only roots may be given back. */
void hocket_json_free(hocket_json *root)
{
    if (root) {
        struct tree *tree = (struct tree *) (void *) ((char *) root - offsetof(struct tree, nodes));
        hocket__free(tree->a, tree, tree->size);
    }
}

/* ---- Reading ---- */

enum hocket__tree_type hocket__tree_type(const hocket_json *v)
{
    switch (v ? v->item.type : cJSON_NULL) {
    case cJSON_False:
    case cJSON_True: return HOCKET__TREE_BOOL;
    case cJSON_Number: return HOCKET__TREE_NUMBER;
    case cJSON_String: return HOCKET__TREE_STRING;
    case cJSON_Array: return HOCKET__TREE_ARRAY;
    case cJSON_Object: return HOCKET__TREE_OBJECT;
    default: return HOCKET__TREE_NULL;
    }
}

/* Of another type it is the empty text, so that callers may ask without looking first. */
static struct hocket__str text_of(const hocket_json *v, enum hocket__tree_type type)
{
    return hocket__tree_type(v) == type ? hocket__str(v->item.valuestring, v->n) : HOCKET__STR("");
}

struct hocket__str hocket__tree_str(const hocket_json *v)
{
    return text_of(v, HOCKET__TREE_STRING);
}

struct hocket__str hocket__tree_number_text(const hocket_json *v)
{
    return text_of(v, HOCKET__TREE_NUMBER);
}

struct hocket__str hocket__tree_name(const hocket_json *v)
{
    return v && v->item.string ? hocket__str(v->item.string, v->name_len) : HOCKET__STR("");
}

bool hocket__tree_bool(const hocket_json *v)
{
    return v && cJSON_IsTrue(&v->item);
}

const hocket_json *hocket__tree_first(const hocket_json *v)
{
    return v && v->item.child ? from_item(v->item.child) : NULL;
}

const hocket_json *hocket__tree_next(const hocket_json *v)
{
    return v && v->item.next ? from_item(v->item.next) : NULL;
}

/* By bisection: a model's object may have ten thousand members, and a schema as many names to look
 * for. */
const hocket_json *hocket__tree_get(const hocket_json *object, struct hocket__str name)
{
    if (hocket__tree_type(object) != HOCKET__TREE_OBJECT)
        return NULL;
    for (size_t low = 0, high = object->n; low < high;) {
        size_t middle = low + (high - low) / 2;
        int order = compare_names(name, hocket__tree_name(object->index[middle]));
        if (order == 0)
            return object->index[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const hocket_json *hocket_json_get(const hocket_json *object, const char *name)
{
    return hocket__tree_get(object, hocket__cstr(name));
}

const hocket_json *hocket_json_at(const hocket_json *array, size_t index)
{
    bool there = hocket__tree_type(array) == HOCKET__TREE_ARRAY && index < array->n;
    return there ? array->index[index] : NULL;
}

size_t hocket_json_count(const hocket_json *array_or_object)
{
    enum hocket__tree_type type = hocket__tree_type(array_or_object);
    bool has_children = type == HOCKET__TREE_ARRAY || type == HOCKET__TREE_OBJECT;
    return has_children ? array_or_object->n : 0;
}

const char *hocket_json_text(const hocket_json *v, const char *otherwise, size_t *len)
{
    bool is_string = hocket__tree_type(v) == HOCKET__TREE_STRING;
    if (len)
        *len = is_string ? v->n : hocket__cstr(otherwise).n;
    return is_string ? v->item.valuestring : otherwise;
}

int64_t hocket_json_int(const hocket_json *v, int64_t otherwise)
{
    int64_t i;
    struct hocket__str text = hocket__tree_number_text(v);
    return text.n > 0 && hocket__num_int(text, &i) ? i : otherwise;
}

double hocket_json_number(const hocket_json *v, double otherwise)
{
    return hocket__tree_type(v) == HOCKET__TREE_NUMBER ? v->item.valuedouble : otherwise;
}

bool hocket_json_bool(const hocket_json *v, bool otherwise)
{
    return hocket__tree_type(v) == HOCKET__TREE_BOOL ? hocket__tree_bool(v) : otherwise;
}

/* ---- Comparing and printing: both walk down no deeper than the reader lets a text go ---- */

/* Indexes of objects are sorted, so that members in another order are compared with their like. */
static bool equal_children(const hocket_json *a, const hocket_json *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!hocket__str_eq(hocket__tree_name(a->index[i]), hocket__tree_name(b->index[i]))
            || !hocket__tree_equal(a->index[i], b->index[i]))
            return false;
    return true;
}

bool hocket__tree_equal(const hocket_json *a, const hocket_json *b)
{
    enum hocket__tree_type type = hocket__tree_type(a);
    if (type != hocket__tree_type(b))
        return false;
    switch (type) {
    case HOCKET__TREE_NULL: return true;
    case HOCKET__TREE_BOOL: return hocket__tree_bool(a) == hocket__tree_bool(b);
    case HOCKET__TREE_NUMBER:
        return hocket__num_equal(hocket__tree_number_text(a), hocket__tree_number_text(b));
    case HOCKET__TREE_STRING: return hocket__str_eq(hocket__tree_str(a), hocket__tree_str(b));
    default: return equal_children(a, b);
    }
}

/* ---- Walking, from outside ---- */

enum hocket_json_type hocket_json_kind(const hocket_json *v)
{
    return (enum hocket_json_type) hocket__tree_type(v); /* the same names in the same order */
}

const hocket_json *hocket_json_first(const hocket_json *v)
{
    return hocket__tree_first(v);
}

const hocket_json *hocket_json_next(const hocket_json *child)
{
    return hocket__tree_next(child);
}

const char *hocket_json_name(const hocket_json *member, size_t *len)
{
    struct hocket__str name = hocket__tree_name(member);
    if (len)
        *len = name.n;
    return name.p ? name.p : "";
}
